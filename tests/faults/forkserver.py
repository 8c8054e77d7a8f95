"""Starts musterd in a tenth of the time: ``python -m tests.faults.forkserver`` imports the daemon once and forks.

The import takes more than a second of CPU, too much for hundreds of starts. Each fork is a process of its own that
runs ``muster.daemon.main.main`` and nothing else. It is killed and exits like any other, and ends with the forkserver.

Standard input: one JSON list per start, with the log file and musterd's arguments. Standard output: one JSON object
per start (``pid``) and per end (``pid``, and ``status`` as in subprocess: negative for a signal).
"""

import asyncio
import contextlib
import gc
import json
import os
import select
import signal
import sys
from pathlib import Path

from muster.cli.processes.child import module
from muster.local.tether import tie


class Forkserver:
    """Client of a forkserver process, as an async context manager."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._starts: asyncio.Queue[int] = asyncio.Queue()
        self._ends: dict[int, asyncio.Future[int]] = {}
        self._asking = asyncio.Lock()

    async def __aenter__(self) -> "Forkserver":
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *module("tests.faults.forkserver"),
                cwd=Path(__file__).parents[2],
                env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        self._reading = asyncio.create_task(self._read(), name="forkserver")
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()
        if self._reading is not None:
            await self._reading

    async def start(self, log: Path, *arguments: str) -> tuple[int, "asyncio.Future[int]"]:
        """Start a musterd; returns its process id and a future of its exit status."""
        assert self._process is not None
        assert self._process.stdin is not None
        async with self._asking:
            self._process.stdin.write(json.dumps([str(log), *arguments]).encode() + b"\n")
            pid = await self._starts.get()
        return pid, self._ends[pid]

    async def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            said = json.loads(line)
            if "status" in said:
                self._ends.pop(said["pid"]).set_result(said["status"])
            else:
                self._ends[said["pid"]] = asyncio.get_running_loop().create_future()
                self._starts.put_nowait(said["pid"])


def main() -> None:
    """Fork as requested until standard input ends, then kill the remaining processes."""
    import kubernetes_asyncio.config.kube_config
    import uvloop

    import muster.daemon.main

    _ = (muster.daemon.main, uvloop, kubernetes_asyncio.config.kube_config)
    gc.collect()
    gc.freeze()  # so that the garbage collector of a child does not copy shared pages
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    children: set[int] = set()
    pending = b""
    while True:
        ready, _, _ = select.select([0, ended], [], [])
        if ended in ready:
            os.read(ended, 4096)
            _reap(children)
        if 0 in ready:
            data = os.read(0, 65536)
            if not data:
                break
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                log, *arguments = json.loads(line)
                children.add(pid := _fork(log, arguments))
                _say({"pid": pid})
    for pid in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    while children:
        pid, _ = os.wait()
        children.discard(pid)


def _reap(children: set[int]) -> None:
    for pid in list(children):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            children.discard(pid)
            _say({"pid": pid, "status": os.waitstatus_to_exitcode(status)})


def _say(what: dict[str, int]) -> None:
    os.write(1, json.dumps(what).encode() + b"\n")


def _fork(log: str, arguments: list[str]) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    status = 70
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        tie(parent, signal.SIGKILL)
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.closerange(3, 256)
        sys.argv = ["musterd", *arguments]
        from muster.daemon.main import main as musterd

        musterd()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    finally:
        if sys.exc_info()[0] is not None:
            sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    main()
