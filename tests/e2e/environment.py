"""For whole-system tests: a real cluster process, and a real musterd that can be killed and started again."""

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
from click.testing import CliRunner

from muster.api.names import API_VERSION, KIND
from muster.cli.main import muster
from muster.cli.processes.stack import Child, free_port, module
from muster.client import Client, Snapshot
from muster.local.home import Announcement, Home
from tests.processes.forked import start_child

ROOT = Path(__file__).parents[2]


class Environment:
    """One cluster, and at most one daemon at a time."""

    def __init__(self, home: Home, announcement: Announcement, client: Client) -> None:
        self.home = home
        self.client = client
        self.cluster = announcement
        self.port = free_port()
        self.daemon: Child | None = None

    async def start_daemon(self, *more: str) -> None:
        """Start musterd on the cluster, with these options too."""
        options = ("--kubeconfig", self.cluster.kubeconfig, "--http-host", "127.0.0.1", "--http-port", str(self.port))
        program = module("muster.daemon.main", *options, *more)
        self.daemon = await start_child("daemon", program, self.home.daemon_log)

    async def kill_daemon(self) -> None:
        """SIGKILL, as by the out-of-memory killer."""
        assert self.daemon is not None
        os.kill(self.daemon.process.pid, signal.SIGKILL)
        await self.daemon.process.wait()

    async def stop_daemon(self) -> None:
        """SIGTERM, and wait."""
        if self.daemon is not None:
            await self.daemon.stop()

    async def metrics(self) -> list[str]:
        """The lines of ``/metrics`` without comments."""
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{self.port}/metrics") as answer:
            return [line for line in (await answer.text()).splitlines() if not line.startswith("#")]

    async def call(self, *words: str) -> str:
        """What a command prints that ends well; it runs in this process."""
        command = [*words, "--kubeconfig", self.cluster.kubeconfig]
        result = await asyncio.to_thread(CliRunner().invoke, muster, command, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    async def serves(self) -> None:
        """Wait until musterd is ready."""
        async with asyncio.timeout(60), aiohttp.ClientSession() as session:
            while True:
                with contextlib.suppress(aiohttp.ClientConnectionError):
                    async with session.get(f"http://127.0.0.1:{self.port}/readyz") as answer:
                        if answer.ok:
                            return
                await asyncio.sleep(0.1)

    async def until(self, name: str, holds: Callable[[Snapshot], bool], seconds: float = 60.0) -> Snapshot:
        """Wait until ``holds`` is true of the experiment."""
        async with asyncio.timeout(seconds):
            async for change in self.client.watch(name):
                if holds(change.experiment):
                    return change.experiment
        raise AssertionError("the watch ended")


@asynccontextmanager
async def environment(folder: Path, *options: str) -> AsyncIterator[Environment]:
    """A cluster with its state in ``folder``, without a daemon yet, for the duration of the block."""
    home = Home(folder)
    home.create()
    program = module("muster.local", "--state", str(folder), "--workspace", str(ROOT), *options)
    cluster = await start_child("cluster", program, home.cluster_log, announces=True)
    try:
        announcement = msgspec.json.decode(await cluster.announcement(60.0), type=Announcement)
        async with Client(Path(announcement.kubeconfig)) as client:
            built = Environment(home, announcement, client)
            try:
                yield built
            finally:
                await built.stop_daemon()
    finally:
        await cluster.stop()


def experiment(
    name: str,
    command: str,
    *,
    operator: str = "jax",
    count: int = 2,
    cpus: float = 0.1,
    memory: float = 0.2,
    **spec: Any,
) -> str:
    """An Experiment of one group ``worker``, as text; ``spec`` are further fields."""
    worker = {"count": count, "resources": {"cpus": cpus, "memory": memory}}
    stated = {"operator": operator, "image": "none", "command": command, "types": {"worker": worker}}
    return json.dumps({"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": {**stated, **spec}})


def children_of(pid: int) -> list[int]:
    """All descendants of a process."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += [int(child), *children_of(int(child))]
    return found


def descriptors_of(pid: int) -> int:
    """Number of open files of a process."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))
