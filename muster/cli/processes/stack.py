"""A local cluster and musterd as child processes, for ``muster run`` and ``muster local up``.

The daemon is the same program as on a real cluster, with a kubeconfig and an address; it does not know that it runs
beside a local cluster.
"""

import asyncio
import os
import socket
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Stack:
    """A cluster and its daemon, which run."""

    cluster: Announcement
    daemon_url: str
    children: Sequence[Child]

    async def watch(self) -> None:
        """Wait until one of the two ends, and raise ``ChildEnded`` with its name and the last lines of its log."""
        await first_of(**{f"watch-{child.name}": child.watch() for child in self.children})


@asynccontextmanager
async def local_stack(
    home: Home, say: Callable[[str], None], *, port: int = 0, fresh: bool = False, memory_only: bool = False
) -> AsyncGenerator[Stack, None]:
    """Yield a cluster and a daemon on one state directory; they end with the context, the daemon first.

    Pods start in the directory the command was called in: on a laptop the program is in it, not in an image.
    """
    if missing := extras.problem("local"):
        raise MusterError(missing)
    if home.held():
        raise Occupied(f"{home.path}: a cluster runs here already; `muster local status` shows it")
    home.create()
    for log in (home.cluster_log, home.daemon_log):
        log.unlink(missing_ok=True)
    options = [
        *("--workspace", str(Path.cwd())),  # the project in this directory takes the place of an image
        *(("--port", str(port)) if port else ()),
        *(("--fresh",) if fresh else ()),
        *(("--memory-only",) if memory_only else ()),
    ]
    async with AsyncExitStack() as children:
        began = time.monotonic()
        program = module("muster.local", "--state", str(home.path), *options)
        cluster = await Child.start("cluster", program, home.cluster_log, announces=True)
        children.push_async_callback(cluster.stop)
        announced = msgspec.json.decode(await cluster.announcement(START_SECONDS), type=Announcement)
        say(f"cluster ready in {time.monotonic() - began:.1f} s (pods isolated by {announced.isolation})")
        began = time.monotonic()
        http = free_port()
        served = ("--http-host", HOST, "--http-port", str(http))
        program = module("muster.daemon.main", "--kubeconfig", announced.kubeconfig, *served, *RUN, *WATCHED)
        daemon = await Child.start("daemon", program, home.daemon_log, environ=DAEMON_ENVIRON)
        children.push_async_callback(daemon.stop)
        url = f"http://{HOST}:{http}"
        try:
            async with asyncio.timeout(START_SECONDS):
                await first_of(watch=daemon.watch(), ask=_ready(url))
        except TimeoutError:
            late = f"musterd was not ready after {START_SECONDS:g} s; its log: {home.daemon_log}"
            raise MusterError(late) from None
        home.note_daemon(DaemonNote(pid=daemon.process.pid, url=url, keeper=os.getpid()))
        say(f"musterd ready in {time.monotonic() - began:.1f} s (log: {home.daemon_log})")
        yield Stack(announced, url, (cluster, daemon))


async def _ready(url: str) -> None:
    """Poll ``/readyz`` until it answers 200: it is all that the daemon offers, here as on a real cluster."""
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
