"""A local cluster and musterd as child processes, for ``muster run`` and ``muster local up``.

The daemon is the same program as on a real cluster, with a kubeconfig and an address; it does not know that it runs
beside a local cluster.
"""

import asyncio
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

import aiohttp
import msgspec

from muster import extras
from muster.api.errors import MusterError
from muster.cli.processes.child import Child, module
from muster.cli.terminal.patience import first_of
from muster.local.home import Announcement, DaemonNote, Home, Occupied

START_SECONDS = 60.0
ASK_AGAIN = 0.1
HOST = "127.0.0.1"
RUN = ("--run-kinds", "jobsets,jaxjobs")
"""Kinds that no other controller runs on a local cluster."""
WATCHED = ("--watch-kinds", "pods,jobsets", "--alone")
"""Kinds that are watched over there, too: labelled pods; a JobSet that is not Muster's reports that nothing runs it."""

DAEMON_ENVIRON = {"MALLOC_ARENA_MAX": "1"}
"""As in the image and the chart: memory that a burst took goes back."""


class Stack:
    """Cluster and daemon on one state directory. An async context manager: leaving it ends both, the daemon first.

    Pods start in the directory the command was called in: on a laptop the program is in it, not in an image.
    """

    def __init__(
        self,
        home: Home,
        say: Callable[[str], None],
        *,
        port: int = 0,
        fresh: bool = False,
        memory_only: bool = False,
    ) -> None:
        self.home = home
        self._say = say
        self._options = [
            *("--workspace", str(Path.cwd())),  # the project in this directory takes the place of an image
            *(("--port", str(port)) if port else ()),
            *(("--fresh",) if fresh else ()),
            *(("--memory-only",) if memory_only else ()),
        ]
        self._children: list[Child] = []
        self._announcement: Announcement | None = None
        self.daemon_url = ""

    @property
    def cluster(self) -> Announcement:
        """Return the announcement of the cluster."""
        assert self._announcement is not None, "the stack has not been entered"
        return self._announcement

    async def __aenter__(self) -> "Stack":
        try:
            await self._start()
        except BaseException:
            await self._stop()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stop()

    async def watch(self) -> None:
        """Wait until one of the two ends, and raise ``ChildEnded`` with its name and the last lines of its log."""
        await first_of(**{f"watch-{child.name}": child.watch() for child in self._children})

    async def _start(self) -> None:
        if missing := extras.problem("local"):
            raise MusterError(missing)
        if self.home.held():
            raise Occupied(f"{self.home.path}: a cluster runs here already; `muster local status` shows it")
        self.home.create()
        for log in (self.home.cluster_log, self.home.daemon_log):
            log.unlink(missing_ok=True)
        began = time.monotonic()
        program = module("muster.local", "--state", str(self.home.path), *self._options)
        cluster = await Child.start("cluster", program, self.home.cluster_log, announces=True)
        self._children.append(cluster)
        self._announcement = msgspec.json.decode(await cluster.announcement(START_SECONDS), type=Announcement)
        self._say(f"cluster ready in {time.monotonic() - began:.1f} s (pods isolated by {self.cluster.isolation})")
        began = time.monotonic()
        port = free_port()
        self.daemon_url = f"http://{HOST}:{port}"
        served = ("--http-host", HOST, "--http-port", str(port))
        options = ("--kubeconfig", self.cluster.kubeconfig, *served, *RUN, *WATCHED)
        program = module("muster.daemon.main", *options)
        daemon = await Child.start("daemon", program, self.home.daemon_log, environ=DAEMON_ENVIRON)
        self._children.append(daemon)
        await self._until_ready(daemon)
        self.home.note_daemon(DaemonNote(pid=daemon.process.pid, url=self.daemon_url, keeper=os.getpid()))
        self._say(f"musterd ready in {time.monotonic() - began:.1f} s (log: {self.home.daemon_log})")

    async def _until_ready(self, daemon: Child) -> None:
        """Poll ``/readyz`` until it answers 200: it is all that the daemon offers, here as on a real cluster."""
        try:
            async with asyncio.timeout(START_SECONDS):
                await first_of(watch=daemon.watch(), ask=_ready(self.daemon_url))
        except TimeoutError:
            late = f"musterd was not ready after {START_SECONDS:g} s; its log: {self.home.daemon_log}"
            raise MusterError(late) from None

    async def _stop(self) -> None:
        while self._children:
            await self._children.pop().stop()


async def _ready(url: str) -> None:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=2)) as session:
        while True:
            try:
                async with session.get(f"{url}/readyz") as answer:
                    if answer.status == 200:
                        return
            except (aiohttp.ClientError, TimeoutError):
                pass  # not listening yet; its end is watched beside this
            await asyncio.sleep(ASK_AGAIN)


def free_port() -> int:
    """Return a TCP port that no process listens on at this moment."""
    with socket.create_server((HOST, 0)) as server:
        port: int = server.getsockname()[1]
        return port
