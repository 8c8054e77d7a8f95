"""Plays one plan, with a namespace, a proxy and a musterd of its own: one experiment from its creation to three quiet
seconds after its end.
"""

import asyncio
import contextlib
import secrets
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from muster.api.names import API_VERSION, KIND, PLURAL
from muster.cli.processes.stack import module
from muster.kube.resources import custom
from muster.local.home import write_kubeconfig
from tests.faults.direct import Direct, direct
from tests.faults.kubelet import Kubelet, script
from tests.faults.plans import Plan
from tests.faults.proxy import Proxy
from tests.faults.recorder import Histories, History, Object, recorded
from tests.processes.forked import Forked
from tests.scenarios.catalogue import scenarios

NAME = "run"
SILENCE = 5.0
"""musterd's --watch-silence where a watch is stalled: the API server's bookmarks come every second. Elsewhere it is the
default, so that a busy machine is not mistaken for a fault."""
DOWN = 0.2
"""Seconds between a crash and the next start."""
QUIET = 3.0
"""Seconds after the end without any write."""
LONGEST = 45.0
"""Seconds within which an experiment must end, while the machine plays a dozen plans."""
STOPPING = 15.0


@dataclass(slots=True)
class Environment:
    """What all plans share."""

    folder: Path
    direct: Direct
    histories: Histories
    kubelet: Kubelet


@dataclass(slots=True)
class Run:
    """The record of a played plan. Times are monotonic."""

    plan: Plan
    proxy: Proxy
    history: History
    began: float
    log: Path
    processes: list[Forked[bytes]] = field(default_factory=list)
    ended: float | None = None
    settled: float = 0.0
    """When the last write was answered, which begins the quiet seconds."""
    stopped: float = 0.0
    unexpected: list[str] = field(default_factory=list)

    @property
    def void(self) -> bool:
        """Whether a fault was not injected: two steps became one, and there was no such request or line."""
        return len(self.proxy.injected) < len(self.plan.faults)


@asynccontextmanager
async def environment(folder: Path) -> AsyncIterator[Environment]:
    """An API server and the observers, with their logs in ``folder``, for the duration of the block."""
    async with _server(folder) as way, asyncio.TaskGroup() as tasks:
        kubelet = Kubelet(way.api, tasks)
        async with recorded(way.api, tasks, kubelet.changed) as histories:
            await kubelet.begin()
            yield Environment(folder, way, histories, kubelet)
            kubelet.running.cancel()


@asynccontextmanager
async def _server(folder: Path) -> AsyncIterator[Direct]:
    """The API server's process, and the way to it."""
    with (folder / "server.log").open("ab") as file:
        server: Forked[bytes] = Forked(
            module("tests.faults.server"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file
        )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        words = msgspec.json.decode(await asyncio.to_thread(server.stdout.readline), type=dict[str, str])
        async with direct(folder, words["url"], words["token"]) as way:
            yield way
    finally:
        server.stdin.close()
        await server.ended()
        server.stdout.close()


async def play(here: Environment, plan: Plan) -> Run:
    """Play a plan."""
    namespace = f"f{secrets.token_hex(4)}"
    await here.direct.api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
    here.kubelet.expect(namespace, plan.size, scenarios()[plan.scenario])
    history = here.histories[namespace] = History()
    player = _Player(here, plan, namespace, history)
    try:
        await player.play()
    finally:
        await player.close()
        del here.histories[namespace]
        await here.direct.api.delete(f"/api/v1/namespaces/{namespace}")
    return player.run


class _Player:
    def __init__(self, here: Environment, plan: Plan, namespace: str, history: History) -> None:
        self._here = here
        self._namespace = namespace
        self._config = here.folder / f"{namespace}.kubeconfig"
        proxy = Proxy(here.direct, plan, self._crash)
        self.run = Run(plan, proxy, history, time.monotonic(), here.folder / f"{namespace}.log")
        self._restarts: list[asyncio.Task[None]] = []

    async def play(self) -> None:
        run = self.run
        async with run.proxy.serving() as url:
            write_kubeconfig(self._config, url=url, token=self._here.direct.token, namespace=self._namespace)
            await self._start()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LONGEST):
                    await self._submit()
                    await run.history.ended.wait()
                    run.ended = time.monotonic()
            if run.ended is not None:
                await self._quiet()
            await self._stop()

    async def _submit(self) -> None:
        """Submit when musterd's watches are open: from then on the run is the same each time."""
        await self.run.proxy.watching.wait()
        path = custom(API_VERSION, self._namespace, PLURAL)
        await self._here.direct.api.create(path, _experiment(self.run.plan))

    async def _quiet(self) -> None:
        """Wait until nothing was written for ``QUIET`` seconds, or longer than the faults can explain."""
        assert self.run.ended is not None
        latest = self.run.ended + 8.0 + sum(fault.seconds for fault in self.run.plan.faults)
        while (now := time.monotonic()) < latest + QUIET:
            self.run.settled = max(self.run.proxy.last_write, self.run.ended)
            rest = self.run.settled + QUIET - now
            if rest <= 0:
                return
            await asyncio.sleep(rest)
        self.run.unexpected.append("it still writes after its end")

    async def _start(self) -> None:
        where = ("--kubeconfig", str(self._config), "--namespace", self._namespace)
        options = ("--http-host", "127.0.0.1", "--http-port", "0", "--log-format", "json")
        patience = ("--watch-silence", str(SILENCE)) if self.run.plan.has("stall") else ()
        program = module("muster.daemon.main", *where, *options, *patience)
        with self.run.log.open("ab") as log:
            self.run.processes.append(Forked(program, stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    async def _crash(self) -> None:
        """SIGKILL, as by the out-of-memory killer; the next process starts a little later."""
        process = self.run.processes[-1]
        if process.poll() is None:
            process.kill()
            await process.ended()
        self._restarts.append(asyncio.create_task(self._restart_later(), name=f"restart musterd of {self._namespace}"))

    async def _restart_later(self) -> None:
        await asyncio.sleep(DOWN)
        await self._start()

    async def _stop(self) -> None:
        """SIGTERM to the last process, which must exit with status 0."""
        await asyncio.gather(*self._restarts)
        process = self.run.processes[-1]
        if process.poll() is not None:
            self.run.unexpected.append(f"musterd has ended by itself with status {process.returncode}")
            return
        asked = time.monotonic()
        process.terminate()
        try:
            async with asyncio.timeout(STOPPING):
                status = await process.ended()
        except TimeoutError:
            self.run.unexpected.append(f"musterd does not end within {STOPPING:g} s of SIGTERM")
        else:
            if status:
                self.run.unexpected.append(f"musterd ends with status {status} after SIGTERM")
        self.run.stopped = time.monotonic() - asked

    async def close(self) -> None:
        """Kill what is left."""
        for task in self._restarts:
            task.cancel()
        await asyncio.gather(*self._restarts, return_exceptions=True)
        for process in self.run.processes:
            process.kill()
            await process.ended()
        self._config.unlink(missing_ok=True)


def _experiment(plan: Plan) -> Object:
    resources = {"cpus": 0.1, "memory": 0.1}
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": NAME},
        "spec": {
            "operator": "jobset",
            "image": "none",
            "command": script(scenarios()[plan.scenario], plan.size),
            "restartPolicy": {"backoffLimit": 1, "backoff": {"initial": "1s"}},
            "types": {"worker": {"count": plan.size, "resources": resources}},
        },
    }
