"""Start ``python -m MODULE`` of ours in a thirtieth of the time: by a fork of a process that has imported the programs.

Each start is a process of its own, with the arguments, environment, directory, streams and session that it is given. It
is killed and exits like any other, and gets SIGTERM when the one who started it has gone. The forkserver begins with
the first start, and ends with this process. ``tests.processes.forkserver`` is its program.
"""

import asyncio
import atexit
import contextlib
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, AnyStr, cast

from muster.cli.processes.stack import DAEMON_ENVIRON, Child, module
from muster.local import tether

ROOT = Path(__file__).parents[2]
ROOM = "-" * 4096
"""An argument of the forkserver, which makes room for the arguments that its children show in their place."""
REQUESTS: list[socket.socket] = []
"""Where starts are requested, once the forkserver runs."""
STARTING = threading.Lock()


class Forked(subprocess.Popen[AnyStr]):
    """``subprocess.Popen`` of a command as ``muster.cli.processes.stack.module`` makes it."""

    _status: socket.socket

    def _execute_child(self, args: Sequence[str], *rest: Any) -> None:
        """Ask for the process. The arguments are those that ``Popen`` gives its own method of this name."""
        cwd, env, ends, new_session = rest[4], rest[5], rest[9:15], rest[-2]
        to_read, _, _, to_write, _, to_err = ends
        what = {
            "argv": [os.fspath(word) for word in args],
            "cwd": os.fspath(cwd or Path.cwd()),
            "env": dict(os.environ if env is None else env),
            "session": new_session,
        }
        streams: list[int] = [own if given == -1 else given for own, given in enumerate((to_read, to_write, to_err))]
        self._status, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            socket.send_fds(requests(), [json.dumps(what).encode()], [*streams, theirs.fileno()])
        self.pid = int(self._status.recv(64) or "0")
        assert self.pid, "the forkserver has ended; its words are on standard error"
        self._child_created = True
        self._close_pipe_fds(*ends)  # type: ignore[attr-defined]  # of Popen, which has no types for it

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        """Return process id and status, as ``os.waitpid`` does. Of a process whose forkserver died none is known."""
        try:
            status = int(self._status.recv(64, socket.MSG_DONTWAIT if wait_flags else 0) or signal.SIGKILL)
        except BlockingIOError:
            return 0, 0
        self._status.close()
        return self.pid, status

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        if self.returncode is None and self._waitpid_lock.acquire(blocking=False):  # type: ignore[attr-defined]
            try:
                pid, status = self._try_wait(os.WNOHANG) if self.returncode is None else (0, 0)
                if pid:
                    self._handle_exitstatus(status)  # type: ignore[attr-defined]  # of Popen
            finally:
                self._waitpid_lock.release()  # type: ignore[attr-defined]
        return self.returncode

    def __del__(self) -> None:
        """Let go of the process: it gets SIGTERM."""
        super().__del__()
        self._status.close()

    async def ended(self) -> int:
        """Wait for its end without a thread; return its exit status."""
        loop = asyncio.get_running_loop()
        while (status := self.poll()) is None:
            readable = asyncio.Event()
            loop.add_reader(self._status, readable.set)
            try:
                await readable.wait()
            finally:
                loop.remove_reader(self._status)
        return status


class _Process:
    """What ``Child`` needs of an ``asyncio.subprocess.Process``."""

    def __init__(self, forked: Forked[bytes]) -> None:
        self._forked = forked
        self._output: asyncio.ReadTransport | None = None
        self.stdout: asyncio.StreamReader | None = None
        self.pid = forked.pid
        self.send_signal, self.terminate, self.kill = forked.send_signal, forked.terminate, forked.kill

    async def read(self) -> None:
        """Connect the standard output."""
        self.stdout = asyncio.StreamReader()
        reader = asyncio.StreamReaderProtocol(self.stdout)
        self._output, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: reader, self._forked.stdout)

    @property
    def returncode(self) -> int | None:
        return self._forked.poll()

    async def wait(self) -> int:
        status = await self._forked.ended()
        if self._output is not None:
            self._output.close()
        return status


async def start_child(
    name: str, program: Sequence[str], log: Path, *, announces: bool = False, environ: Mapping[str, str] | None = None
) -> Child:
    """Start a child as ``Child.start`` does."""
    with log.open("ab") as file:
        forked: Forked[bytes] = Forked(
            program,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if announces else file,
            stderr=file,
            env={**os.environ, **(environ or {})},
            start_new_session=True,
        )
    process = _Process(forked)
    if announces:
        await process.read()
    return Child(name, log, cast("asyncio.subprocess.Process", process))


def run(program: Sequence[str], **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run a program to its end; return its exit status, its output and its errors."""
    with Forked(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options) as forked:
        out, err = forked.communicate()
    return subprocess.CompletedProcess(program, forked.returncode, out, err)


def write_command(path: Path, name: str) -> int:
    """Write a program that runs a module by fork; return the descriptor that the shell has to inherit."""
    descriptor = requests().fileno()
    words = [sys.executable, "-I", "-S", str(Path(__file__).with_name("command.py")), str(descriptor), *module(name)]
    path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return descriptor


def requests() -> socket.socket:
    """Return the socket where starts are requested; the first call starts the forkserver."""
    with STARTING:
        return (REQUESTS or [_forkserver()])[0]


def _forkserver() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        program = module("tests.processes.forkserver", str(theirs.fileno()), str(ours.fileno()), ROOM)
        process = subprocess.Popen(
            tether.command(program, death=signal.SIGKILL),
            cwd=ROOT,
            env={**os.environ, **DAEMON_ENVIRON, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(), ours.fileno()),
            start_new_session=True,
        )
    atexit.register(_end, process)
    REQUESTS.append(ours)
    return ours


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(10)
    for each in REQUESTS:
        each.close()
