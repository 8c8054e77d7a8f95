"""Plays one plan: a namespace, a proxy and a musterd of its own; one experiment from its creation to three quiet
seconds after its end.
"""

import asyncio
import contextlib
import os
import secrets
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from muster.api.names import API_VERSION, GROUP, KIND, VERSION
from muster.local.kubeconfig import write_kubeconfig
from tests.faults.direct import Direct, Object
from tests.faults.forkserver import Nursery
from tests.faults.kubelet import Kubelet
from tests.faults.plans import SURVIVORS, Plan
from tests.faults.proxy import Proxy
from tests.faults.recorder import History, Witness, observers

ROOT = Path(__file__).parents[2]
NAME = "run"
SILENCE = 5.0
"""musterd's --watch-silence where a watch is stalled: the API server's bookmarks come every second. Elsewhere it is the
default, so that a busy machine is not taken for a fault."""
DOWN = 0.2
"""Seconds between a crash and the next life."""
QUIET = 3.0
"""Seconds after the end in which nothing may be written."""
LONGEST = 45.0
"""Seconds within which every experiment must end, on a machine that does a dozen of them at once."""
STOPPING = 15.0


@dataclass(slots=True)
class Site:
    """What all plans share."""

    folder: Path
    direct: Direct
    nursery: Nursery
    witness: Witness
    kubelet: Kubelet


@dataclass(slots=True)
class Life:
    """One musterd process."""

    pid: int
    end: "asyncio.Future[int]"
    killed: bool = False


@dataclass(slots=True)
class Run:
    """All that is known of a played plan. Times are monotonic."""

    plan: Plan
    proxy: Proxy
    history: History
    began: float
    log: Path
    lives: list[Life] = field(default_factory=list)
    ended: float | None = None
    settled: float = 0.0
    """When the last write was answered and the quiet seconds began."""
    stopped: float = 0.0
    unexpected: list[str] = field(default_factory=list)

    @property
    def void(self) -> bool:
        """A fault found no place to happen: two steps became one, and there was no such request or line."""
        return len(self.proxy.struck) < len(self.plan.faults)


@asynccontextmanager
async def site(folder: Path) -> AsyncIterator[Site]:
    """An API server, a nursery, and the observers, with their logs in ``folder``. Everything is ended with it."""
    async with (
        Nursery(folder / "nursery.log") as nursery,
        _server(folder / "server.log") as direct,
        observers(direct) as (witness, kubelet),
    ):
        yield Site(folder, direct, nursery, witness, kubelet)


@asynccontextmanager
async def _server(log: Path) -> AsyncIterator[Direct]:
    """The API server's process, and the way to it."""
    with log.open("ab") as file:
        server = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "tests.faults.server"),
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=file,
        )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        said = msgspec.json.decode(await server.stdout.readline(), type=dict[str, str])
        async with Direct(said["url"], said["token"]) as direct:
            yield direct
    finally:
        server.stdin.close()
        await server.wait()


async def play(here: Site, plan: Plan) -> Run:
    """Play a plan."""
    namespace = f"f{secrets.token_hex(4)}"
    await here.direct.want("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    here.kubelet.expect(namespace, plan.size, SURVIVORS[plan.scenario])
    history = here.witness.attend(namespace)
    player = _Player(here, plan, namespace, history)
    try:
        await player.play()
    finally:
        await player.close()
        here.witness.leave(namespace)
        await here.direct.want("DELETE", f"/api/v1/namespaces/{namespace}")
    return player.run


class _Player:
    def __init__(self, here: Site, plan: Plan, namespace: str, history: History) -> None:
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
        """The user comes when musterd watches: from then on the run is the same each time."""
        await self.run.proxy.watching.wait()
        path = f"/apis/{GROUP}/{VERSION}/namespaces/{self._namespace}/experiments"
        await self._here.direct.want("POST", path, _experiment(self.run.plan.size))

    async def _quiet(self) -> None:
        """Until nothing was written for some seconds, or for as long as the faults can explain and then some."""
        assert self.run.ended is not None
        latest = self.run.ended + 8.0 + sum(fault.seconds for fault in self.run.plan.faults)
        while (now := time.monotonic()) < latest + QUIET:
            self.run.settled = max(self.run.proxy.last_write, self.run.ended)
            rest = self.run.settled + QUIET - now
            if rest <= 0:
                return
            await asyncio.sleep(rest)
        self.run.unexpected.append("it goes on writing after its end")

    async def _start(self) -> None:
        where = ("--kubeconfig", str(self._config), "--namespace", self._namespace)
        options = ("--http-host", "127.0.0.1", "--http-port", "0", "--log-format", "json")
        patience = ("--watch-silence", str(SILENCE)) if self.run.plan.has("stall") else ()
        pid, end = await self._here.nursery.start(self.run.log, *where, *options, *patience)
        self.run.lives.append(Life(pid, end))

    async def _crash(self) -> None:
        """SIGKILL, as the out-of-memory killer would; the next life begins a little later."""
        life = self.run.lives[-1]
        if not life.end.done():
            life.killed = True
            os.kill(life.pid, signal.SIGKILL)
            await asyncio.shield(life.end)
        self._restarts.append(asyncio.create_task(self._again(), name=f"restart musterd of {self._namespace}"))

    async def _again(self) -> None:
        await asyncio.sleep(DOWN)
        await self._start()

    async def _stop(self) -> None:
        """SIGTERM to the last life, which must end by itself and in good order."""
        await asyncio.gather(*self._restarts)
        life = self.run.lives[-1]
        if life.end.done():
            self.run.unexpected.append(f"musterd has ended by itself with status {life.end.result()}")
            return
        asked = time.monotonic()
        os.kill(life.pid, signal.SIGTERM)
        try:
            async with asyncio.timeout(STOPPING):
                status = await asyncio.shield(life.end)
        except TimeoutError:
            self.run.unexpected.append(f"musterd does not end within {STOPPING:g} s of SIGTERM")
        else:
            if status:
                self.run.unexpected.append(f"musterd ends with status {status} after SIGTERM")
        self.run.stopped = time.monotonic() - asked

    async def close(self) -> None:
        """Kill what is left, whatever happened."""
        for task in self._restarts:
            task.cancel()
        await asyncio.gather(*self._restarts, return_exceptions=True)
        for life in self.run.lives:
            if not life.end.done():
                os.kill(life.pid, signal.SIGKILL)
                await life.end
        self._config.unlink(missing_ok=True)


def _experiment(size: int) -> Object:
    resources = {"cpus": 0.1, "memory": 0.1}
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": NAME},
        "spec": {
            "operator": "jobset",
            "image": "none",
            "command": "true",
            "restartPolicy": {"backoffLimit": 1, "backoff": {"initial": "1s"}},
            "types": {"worker": {"count": size, "resources": resources}},
        },
    }
