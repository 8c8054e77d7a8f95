"""A command in a container, and a TCP connection to a port of a pod: the subresources ``exec`` and ``portforward``.

Both are WebSockets, whose frames begin with a byte that names their channel.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, Protocol

import aiohttp
import msgspec

from muster.api.errors import ApiError, Unreachable
from muster.kube.cancellation import cancelling, mark_seen
from muster.kube.resources import core
from muster.kube.transport import Details, Status, error_from_status

PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")
"""Version 5 adds the closing of a channel, which is not used here; API servers before 1.30 use version 4."""
OUTPUT, ERRORS, OUTCOME = 1, 2, 3
"""Standard output, standard error, a metav1.Status (kubernetes: apimachinery/pkg/util/remotecommand)."""
LARGEST: Final = 32 * 2**20
"""Most bytes of output that are read."""
_EXIT = "ExitCode"
"""The cause of a failure that has the exit code (apimachinery/pkg/util/exec: ExitCodeCauseType)."""


@dataclass(frozen=True, slots=True)
class Executed:
    """The exit code of a command, and its output."""

    code: int
    output: bytes
    errors: bytes


class Sockets(Protocol):
    """A connection that opens WebSockets; ``muster.kube.connection`` does."""

    def socket(
        self, path: str, *, params: Sequence[tuple[str, str]], protocols: Sequence[str]
    ) -> AbstractAsyncContextManager["aiohttp.ClientWebSocketResponse[bool]"]:
        """Open a WebSocket. Raises ``ApiError``."""


async def execute(sockets: Sockets, namespace: str, pod: str, container: str, command: Sequence[str]) -> Executed:
    """Run a command in a container to its end. Raises ``ApiError``, also if the command cannot be started.

    There is no time limit: the caller has one.
    """
    path = f"{core(namespace, 'pods', pod)}/exec"
    params = [("container", container), ("stdout", "true"), ("stderr", "true"), *(("command", w) for w in command)]
    parts, size = {OUTPUT: bytearray(), ERRORS: bytearray(), OUTCOME: bytearray()}, 0
    async with sockets.socket(path, params=params, protocols=PROTOCOLS) as socket:
        async for channel, data in _frames(socket):
            size += len(data)
            if size > LARGEST:
                raise Unreachable(f"the command printed more than {LARGEST} bytes", reason="TooLarge", request=path)
            if channel in parts:
                parts[channel] += data
    return Executed(_code(bytes(parts[OUTCOME]), path), bytes(parts[OUTPUT]), bytes(parts[ERRORS]))


async def _frames(socket: "aiohttp.ClientWebSocketResponse[bool]") -> AsyncIterator[tuple[int, bytes]]:
    async for message in socket:
        if message.type is aiohttp.WSMsgType.BINARY and message.data:
            yield message.data[0], message.data[1:]


def _code(outcome: bytes, path: str) -> int:
    """Return the exit code in the Status. Raises ``ApiError`` for a Status without one."""
    try:
        found = msgspec.json.decode(outcome, type=Status)
    except (ValueError, RecursionError) as error:
        raise Unreachable("the connection ended before the command", reason="Broken", request=path) from error
    if found.status == "Success":
        return 0
    for cause in (found.details or Details()).causes or ():
        code = cause.message or ""
        if cause.reason == _EXIT and code.isascii() and code.isdecimal() and len(code) < 4:
            return int(code)
    raise error_from_status(found, request=path)


PROTOCOL: Final = "v4.channel.k8s.io"
"""API servers that know newer protocols forward this one to the kubelet (kubernetes:
cri-streaming/pkg/streaming/portforward/websocket.go). It has no sign for the end of one direction: the pod's remaining
data for a program that closes its side is lost."""
DATA, ERROR_CHANNEL = 0, 1
"""The data, and an error as text. The first frame of each has the port, in two bytes."""
AT_ONCE: Final = 2**16
"""Most bytes of one frame."""

Write = Callable[[bytes], Awaitable[None]]
NOT_FORWARDED: Final = "PortForward"
"""The reason of the error if the port of the pod could not be reached from inside the pod."""
LEAST: Final = 0.2
"""Seconds within which a node reports that nothing listens at the port."""


async def dial(
    sockets: Sockets,
    namespace: str,
    pod: str,
    port: int,
    *,
    limit: int,
    late: Callable[[ApiError], None],
    carried_by: set["asyncio.Task[None]"],
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a connection to that port of the pod, as ``asyncio.open_connection`` does; ``limit`` bounds a line.

    The protocol has no sign for an open connection, only for a failure: so a failure is awaited for as long as the
    WebSocket took to open. ``late`` is called with a later one, before the connection ends. ``carried_by`` has the task
    that carries the connection, as long as it runs: the caller ends and awaits them all. Raises ``ApiError``.
    """
    opened, heard, began = asyncio.Event(), asyncio.Event(), asyncio.get_running_loop().time()
    returned = False
    here, there = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=here, limit=limit)
    inner, outer = await asyncio.open_connection(sock=there)

    async def write(data: bytes) -> None:
        heard.set()
        outer.write(data)
        await outer.drain()

    async def carry() -> None:
        try:
            await forward(sockets, namespace, pod, port, inner, write, opened.set)
        except ConnectionError:  # the caller has closed its side
            pass
        except ApiError as error:
            if returned:
                late(error)
            raise
        finally:
            outer.transport.abort()

    carried = asyncio.create_task(carry(), name=f"port {port} of {namespace}/{pod}")
    carried_by.add(carried)
    carried.add_done_callback(carried_by.discard)
    carried.add_done_callback(mark_seen)  # the reader of the connection sees its end
    try:
        await _first(carried, opened)
        taken = asyncio.get_running_loop().time() - began
        async with asyncio.timeout(max(LEAST, taken)):
            await _first(carried, heard)
    except TimeoutError:
        pass  # the server is silent until it is asked
    except BaseException:
        writer.transport.abort()
        carried.cancel()
        raise
    returned = True
    return reader, writer


async def _first(carried: "asyncio.Task[None]", event: asyncio.Event) -> None:
    """Wait until the event is set, or until the connection has ended. Raises the error of its end."""
    waiting = asyncio.create_task(event.wait())
    try:
        await asyncio.wait((carried, waiting), return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
    if carried.done():
        carried.result()


async def forward(
    sockets: Sockets,
    namespace: str,
    pod: str,
    port: int,
    reader: asyncio.StreamReader,
    write: Write,
    opened: Callable[[], None] = lambda: None,
) -> None:
    """Carry the data of ``reader`` to that port of the pod, and write the answers, until one side ends.

    ``opened`` is called when the API server has accepted. Raises ``ApiError``, also if nothing in the pod listens at
    the port.
    """
    path = f"{core(namespace, 'pods', pod)}/portforward"
    async with sockets.socket(path, params=[("ports", str(port))], protocols=(PROTOCOL,)) as stream:
        opened()
        there = asyncio.create_task(_there(reader, stream))
        back = asyncio.create_task(_back(stream, write, path))
        async with cancelling(there, back):
            done, _ = await asyncio.wait((there, back), return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                await task


async def _there(reader: asyncio.StreamReader, stream: "aiohttp.ClientWebSocketResponse[bool]") -> None:
    while data := await reader.read(AT_ONCE):
        await stream.send_bytes(bytes((DATA,)) + data)


async def _back(stream: "aiohttp.ClientWebSocketResponse[bool]", write: Write, path: str) -> None:
    begun: set[int] = set()
    async for channel, data in _frames(stream):
        if channel not in begun:
            begun.add(channel)
            data = data[2:]
        if channel == DATA and data:
            await write(data)
        elif channel == ERROR_CHANNEL and data:
            raise Unreachable(data.decode(errors="replace"), reason=NOT_FORWARDED, request=path)
