"""A local cluster and musterd as child processes, for ``muster run`` and ``muster local up``.

The daemon is the same program as on a real cluster, with a kubeconfig and an address; it does not know that it runs
beside a local cluster. ``muster run`` takes the local cluster that runs already, or one of its own that ends with it.
"""

import asyncio
import os
import re
import secrets
import shutil
import socket
import sys
import time
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp
import msgspec

from muster import extras
from muster.api.errors import MusterError
from muster.cli.terminal.colours import say
from muster.cli.terminal.patience import first_of
from muster.extras import pip_argument
from muster.local import tether
from muster.local.home import Announcement, DaemonNote, Exposed, Home, Occupied, default_home

LAST_LINES = 15
KILL_SECONDS = 20.0
"""Seconds a child may take to end by itself once it was asked to."""


class ChildEnded(MusterError):
    """A child process that the command needs has ended."""


def module(name: str, *arguments: str) -> list[str]:
    """Return the argument vector that runs one of our own modules, whatever directory the command was called in."""
    return [sys.executable, "-P", "-m", name, *arguments]


@dataclass(slots=True)
class Child:
    """One child process. Create it with ``start``, and always ``stop`` it.

    It ends with the command, is supervised, and writes its output to a log file. It runs in a session of its own, so
    that Ctrl-C in the terminal reaches the command alone, which then ends its children in order.
    """

    name: str
    log: Path
    process: asyncio.subprocess.Process

    @classmethod
    async def start(
        cls,
        name: str,
        program: Sequence[str],
        log: Path,
        *,
        announces: bool = False,
        environ: Mapping[str, str] | None = None,
    ) -> "Child":
        """Start ``program`` with its output in ``log``, and ``environ`` added to the environment of this process.

        With ``announces`` its standard output is read by the caller.
        """
        with log.open("ab") as file:
            process = await asyncio.create_subprocess_exec(
                *tether.command(program),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE if announces else file,
                stderr=file,
                env={**os.environ, **(environ or {})},
                start_new_session=True,
            )
        return cls(name, log, process)

    async def announcement(self, seconds: float) -> bytes:
        """Return its first line on standard output. Raises ``ChildEnded`` without one within ``seconds``."""
        assert self.process.stdout is not None
        try:
            async with asyncio.timeout(seconds):
                line = await self.process.stdout.readline()
        except TimeoutError:
            raise ChildEnded(self._with_log(f"the {self.name} was not ready after {seconds:g} s")) from None
        if not line:
            await self.watch()
        return line

    async def watch(self) -> None:
        """Wait for its end, and raise ``ChildEnded`` with the last lines of its log: it was not asked to end."""
        status = await self.process.wait()
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        raise ChildEnded(self._with_log(f"the {self.name} (process {self.process.pid}) {how}"))

    async def stop(self) -> None:
        """Ask it to end, and kill it if it does not."""
        if self.process.returncode is None:
            with suppress(ProcessLookupError):
                self.process.terminate()
            try:
                async with asyncio.timeout(KILL_SECONDS):
                    await self.process.wait()
            except TimeoutError:
                with suppress(ProcessLookupError):
                    self.process.kill()
                await self.process.wait()

    def _with_log(self, what: str) -> str:
        try:
            with self.log.open(encoding="utf-8", errors="replace") as file:
                lines = [line.rstrip() for line in deque(file, LAST_LINES)]
        except OSError:
            lines = []
        last = "".join(f"\n  {line}" for line in lines) or "\n  (nothing)"
        return f"{what}; the last lines of {self.log}:{last}"


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
class LocalCluster:
    """A cluster and its daemon, which run. ``callers`` is where environments are lent to pods.

    ``children`` are the processes of the two, where this command has started them.
    """

    kubeconfig: Path
    daemon_url: str
    callers: Path
    children: Sequence[Child] = ()

    async def watch(self) -> None:
        """Wait until one of the children ends, and raise ``ChildEnded`` with its name and the last lines of its log."""
        await first_of(**{f"watch-{child.name}": child.watch() for child in self.children})


@asynccontextmanager
async def local_stack(
    home: Home, *, port: int = 0, fresh: bool = False, memory_only: bool = False
) -> AsyncGenerator[LocalCluster, None]:
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
            raise MusterError(f"musterd was not ready after {START_SECONDS:g} s; its log: {home.daemon_log}") from None
        home.note_daemon(DaemonNote(pid=daemon.process.pid, url=url, keeper=os.getpid()))
        say(f"musterd ready in {time.monotonic() - began:.1f} s (log: {home.daemon_log})")
        yield LocalCluster(Path(announced.kubeconfig), url, home.callers, (cluster, daemon))


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


KEPT = "kept"
"""A file that marks a state directory which is to be kept."""


@asynccontextmanager
async def local_cluster(*, keep: bool) -> AsyncGenerator[LocalCluster, None]:
    """Yield the running local cluster, or a new one that ends with the context. With ``keep`` its files stay."""
    home = Home(default_home())
    if running := home.running():
        note = home.noted_daemon()
        if note is None:
            raise MusterError(f"the cluster at {home.path} runs without musterd; end it with `muster local down`")
        say(f"using the local cluster at {running.url}")
        yield LocalCluster(Path(running.kubeconfig), note.url, home.callers)
        return
    home.make()
    sweep(home.runs)
    own = Home(home.runs / secrets.token_hex(4))
    own.create()
    if keep:
        (own.path / KEPT).touch()
    say("starting a cluster on this machine")
    try:
        async with local_stack(own, memory_only=not keep) as cluster:
            yield cluster
    except ChildEnded:
        keep = True  # its log has the reason, and the message names it
        raise
    finally:
        if keep:
            say(f"kept: {own.path}")
        else:
            shutil.rmtree(own.path, ignore_errors=True)


def sweep(runs: Path) -> None:
    """Remove the directories of killed runs.

    One whose lock is held, that is to be kept, or that belongs to another user (``sudo muster run``) stays. A link is
    not followed.
    """
    for path in runs.glob("*") if runs.is_dir() else ():
        with suppress(Occupied, Exposed, OSError):
            if path.is_symlink() or (path / KEPT).exists() or not (path / "lock").exists():
                continue
            Home(path).acquire().close()
            shutil.rmtree(path, ignore_errors=True)


_LINE: Final = re.compile(r"ModuleNotFoundError: No module named 'muster(\.\w+)*'")


def hint(lines: Iterable[str], python: str | None) -> str:
    """Return how to install ``muster.jax``, or do without it, if a line shows that ``python`` lacks it; else empty.

    ``muster`` is often installed for itself, and the program runs with another Python.
    """
    if python is None or not any(_LINE.match(line) for line in lines):
        return ""
    return (
        f"{python} does not have muster.jax: {python} -m pip install '{pip_argument()}', "
        "or use the three lines of jax instead (docs/researcher.md)"
    )
