"""The node agent's side of the launcher: starts the process, requests pods, stops it."""

import asyncio
import contextlib
import socket
import subprocess
import sys

from muster.local.node.isolation.frames import encode
from muster.local.node.isolation.levels import LAUNCHER, Isolation
from muster.local.node.isolation.sandbox import Sandbox, SandboxError

END_SECONDS = 10.0


class Launcher:
    """The launcher process, which forks a pod's init process on request. `died` is set when it ends for any reason."""

    def __init__(self, isolation: Isolation, *, userns: bool) -> None:
        self.died = asyncio.Event()
        self._isolation = isolation
        self._sock, theirs = socket.socketpair()
        command = [sys.executable, "-I", "-S", str(LAUNCHER), str(theirs.fileno())]
        command += ["--userns"] if userns else []
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and file
                command,
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                env={"LANG": "C.UTF-8"},
                cwd="/",
            )
        self._sock.setblocking(False)
        self._lock = asyncio.Lock()
        self._watch = asyncio.create_task(self._await_end(), name="launcher-watch")

    @property
    def pid(self) -> int:
        """The launcher's process id."""
        return self._process.pid

    async def pod(self, *, host_network: bool) -> Sandbox:
        """Request a new sandbox. Its init process exists once `Sandbox.created` returns."""
        ours, theirs = socket.socketpair()
        namespaces = self._isolation.namespaces
        message = {
            "op": "pod",
            "namespaces": namespaces,
            "network": self._isolation is Isolation.NETNS and not host_network,
        }
        loop = asyncio.get_running_loop()
        with theirs:
            try:
                async with self._lock:
                    data = encode(message)
                    # Far smaller than the socket's buffer, which the launcher reads at once.
                    sent = socket.send_fds(self._sock, [data], [theirs.fileno()])
                    await loop.sock_sendall(self._sock, data[sent:])
            except OSError as error:
                ours.close()
                raise SandboxError(f"the launcher process has ended ({error.strerror})") from error
        return Sandbox(ours, namespaces=namespaces)

    async def stop(self) -> None:
        """Stop the launcher, and with it the remaining pods."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._watch.cancel()
        await asyncio.gather(self._watch, return_exceptions=True)
        self._sock.close()
        try:
            await asyncio.to_thread(self._process.wait, END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)

    async def _await_end(self) -> None:
        loop = asyncio.get_running_loop()
        with contextlib.suppress(ConnectionError):
            await loop.sock_recv(self._sock, 1)  # the launcher never writes, so this returns when it ends
        self.died.set()
