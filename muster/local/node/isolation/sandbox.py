"""The node agent's side of a pod's init process: set up namespaces, start and signal processes, kill everything.

The launcher, which makes those processes, is started, asked for pods and stopped here, too.
"""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from muster.kube.cancellation import cancel_and_wait
from muster.local.node.isolation.frames import CHUNK, Decoder, Message, encode
from muster.local.node.isolation.levels import LAUNCHER, Isolation


class SandboxError(Exception):
    """The pod's init process refused a request or has ended. The message is for the user."""


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """Everything needed to execute one process of a pod."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str | None
    pod_directory: str
    graft_directory: str
    mounts: Sequence[Mapping[str, Any]] = ()
    cgroups: Sequence[str] = ()
    limits: Mapping[str, int] = field(default_factory=dict)
    join: int = 0
    """Number of the running process whose mounts this one shares (exec); 0 for mounts of its own."""


@dataclass(frozen=True, slots=True)
class RunningProcess:
    """A started process: the agent's number for it, its pid on the host, and the future of its wait status."""

    number: int
    pid: int
    status: asyncio.Future[int]


class Sandbox:
    """The processes of one pod. `closed` is set when its init process has ended, and with it every other one."""

    def __init__(self, sock: socket.socket, *, namespaces: bool) -> None:
        sock.setblocking(False)
        self.pid = 0
        self.closed = asyncio.Event()
        self._sock = sock
        self._pidfd = -1
        self._namespaces = namespaces
        self._numbers = 0
        self._lock = asyncio.Lock()
        self._replies: dict[int, asyncio.Future[Message]] = {}
        self._exits: dict[int, asyncio.Future[int]] = {}
        self._unseen: set[int] = set()
        self._destroyed = False
        self._prepared: asyncio.Queue[Message] = asyncio.Queue()
        self._reader = asyncio.create_task(self._read(), name="sandbox-reader")

    async def created(self) -> int:
        """Return the pid of the pod's init process on the host. Its namespaces exist when this returns."""
        self.pid = int((await self._expect("created"))["pid"])
        with contextlib.suppress(OSError):  # if it has just died, there is nothing to wait for
            self._pidfd = os.pidfd_open(self.pid)
        return self.pid

    async def set_up(
        self,
        *,
        hostname: str,
        binds: Sequence[tuple[str, str]],
        address: str,
        prefix: int,
        gateway: str,
        tmpfs: Sequence[tuple[str, int | None]] = (),
    ) -> None:
        """Set the pod's hostname, bind mounts, memory volumes (folder, size in bytes) and address."""
        message: Message = {"op": "setup", "hostname": hostname, "binds": binds, "tmpfs": tmpfs}
        message |= {"address": address, "prefix": prefix, "gateway": gateway}
        await self._send(message)
        await self._expect("ready")

    async def start(self, spec: ProcessSpec, output: int) -> RunningProcess:
        """Start a process that writes its output to the descriptor `output`. The caller closes its own copy."""
        if self.closed.is_set():
            raise SandboxError("the pod's init process has ended")
        self._numbers += 1
        number = self._numbers
        loop = asyncio.get_running_loop()
        reply = self._replies[number] = loop.create_future()
        ended = self._exits[number] = loop.create_future()
        message: Message = {"op": "start", "id": number, "namespaces": self._namespaces, **asdict(spec)}
        try:
            await self._send(message, (output,))
            answer = await reply
        finally:
            self._replies.pop(number, None)
        if answer["ev"] != "started":
            self._exits.pop(number, ended).cancel()
            raise SandboxError(str(answer["message"]))
        return RunningProcess(number, int(answer["pid"]), ended)

    async def signal(self, process: RunningProcess, number: int) -> None:
        """Signal the first process of a container; SIGKILL reaches all. A container that has ended is not an error."""
        if not process.status.done() and not self.closed.is_set():
            await self._send({"op": "signal", "id": process.number, "signal": number})

    def unseen(self, process: RunningProcess) -> bool:
        """Return True if its end was not observed: it ended with an init process that was not stopped here."""
        return process.number in self._unseen

    async def destroy(self) -> None:
        """Kill every process of the pod and wait until they have ended."""
        self._destroyed = True
        if not self.closed.is_set():
            self._sock.shutdown(socket.SHUT_WR)
            await self.closed.wait()
        await asyncio.gather(self._reader, return_exceptions=True)
        self._sock.close()
        if self._pidfd >= 0:
            # The socket closes before the kernel has killed the rest of the pid namespace; the init process ends last.
            descriptor, self._pidfd = self._pidfd, -1
            loop = asyncio.get_running_loop()
            await _ready(descriptor, loop.add_reader, loop.remove_reader)
            os.close(descriptor)

    async def _expect(self, event: str) -> Message:
        answer = await self._prepared.get()
        if answer["ev"] != event:
            raise SandboxError(str(answer.get("message", "the pod's init process has ended")))
        return answer

    async def _send(self, message: Message, descriptors: Sequence[int] = ()) -> None:
        loop = asyncio.get_running_loop()
        data = encode(message)
        async with self._lock:
            try:
                while descriptors:
                    try:
                        sent = socket.send_fds(self._sock, [data], list(descriptors))
                    except BlockingIOError:
                        await _ready(self._sock, loop.add_writer, loop.remove_writer)
                    else:
                        descriptors = ()
                        data = data[sent:]
                await loop.sock_sendall(self._sock, data)
            except OSError as error:
                raise SandboxError(f"the pod's init process has ended ({error.strerror})") from error

    async def _read(self) -> None:
        loop = asyncio.get_running_loop()
        decoder = Decoder()
        try:
            while data := await loop.sock_recv(self._sock, CHUNK):
                for message in decoder.feed(data):
                    self._take(message)
        except ConnectionError:
            pass  # the process died with its end of the socket: the same as end of file
        finally:
            self._end()

    def _take(self, message: Message) -> None:
        number = message.get("id")
        if number is None:
            self._prepared.put_nowait(message)
        elif message["ev"] == "exited":
            future = self._exits.pop(number, None)
            if future is not None and not future.done():
                future.set_result(int(message["status"]))
        elif (reply := self._replies.get(number)) is not None and not reply.done():
            reply.set_result(message)

    def _end(self) -> None:
        """End every process: the init process is dead, so the kernel has killed the others with SIGKILL."""
        gone: Message = {"ev": "gone", "message": "the pod's init process has ended"}
        self.closed.set()
        self._prepared.put_nowait(gone)
        for reply in self._replies.values():
            if not reply.done():
                reply.set_result(gone)
        for number, future in self._exits.items():
            if not future.done():
                future.set_result(9)
                if not self._destroyed:
                    self._unseen.add(number)
        self._exits.clear()


async def _ready(file: socket.socket | int, add: Callable[..., None], remove: Callable[..., object]) -> None:
    """Wait until a descriptor can be read or written; `add` and `remove` are of the event loop."""
    ready = asyncio.Event()
    add(file, ready.set)
    try:
        await ready.wait()
    finally:
        remove(file)


END_SECONDS = 10.0


class Launcher:
    """The launcher process, which forks a pod's init process on request. `died` is set when it ends for any reason."""

    def __init__(self, isolation: Isolation) -> None:
        self.died = asyncio.Event()
        self._isolation = isolation
        self._sock, theirs = socket.socketpair()
        command = [sys.executable, "-I", "-S", str(LAUNCHER), str(theirs.fileno())]
        command += ["--userns"] if isolation is Isolation.MNT and os.geteuid() != 0 else []
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
        """Return the launcher's process id."""
        return self._process.pid

    async def pod(self, *, host_network: bool) -> Sandbox:
        """Request a new sandbox. Its init process exists once `Sandbox.created` returns."""
        ours, theirs = socket.socketpair()
        namespaces = self._isolation.namespaces
        network = self._isolation is Isolation.NETNS and not host_network
        message: Message = {"op": "pod", "namespaces": namespaces, "network": network}
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
        await cancel_and_wait(self._watch)
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
