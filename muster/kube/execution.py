"""Runs a command in a container: the subresource ``exec`` of a pod, over a WebSocket.

The frames begin with a byte that names their channel (kubernetes: apimachinery/pkg/util/remotecommand): 1 is standard
output, 2 standard error, 3 a metav1.Status with the outcome. Protocol v5 adds the closing of a channel, which is not
used here; API servers before 1.30 speak v4.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, Protocol

import aiohttp
import msgspec

from muster.api.errors import ApiError, Unreachable
from muster.kube.paths import core
from muster.kube.status_errors import error_from_status, read_status

PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")
OUTPUT, ERRORS, OUTCOME = 1, 2, 3
"""Channels."""
LARGEST: Final = 32 * 2**20
"""Bytes of output that are read."""
_EXIT = "ExitCode"
"""Cause of a failure that holds the exit code (apimachinery/pkg/util/exec: ExitCodeCauseType)."""


@dataclass(frozen=True, slots=True)
class Executed:
    """How a command ended, and what it wrote."""

    code: int
    output: bytes
    errors: bytes


class Sockets(Protocol):
    """A connection that opens WebSockets; ``muster.kube.connection`` does."""

    def socket(
        self, path: str, *, params: Sequence[tuple[str, str]], protocols: Sequence[str]
    ) -> AbstractAsyncContextManager["aiohttp.ClientWebSocketResponse[bool]"]:
        """Open one. Raises ``ApiError``."""
        ...


class _Cause(msgspec.Struct):
    reason: str = ""
    message: str = ""


class _Details(msgspec.Struct):
    causes: list[_Cause] = []


class _Outcome(msgspec.Struct):
    status: str = ""
    details: _Details | None = None


async def execute(sockets: Sockets, namespace: str, pod: str, container: str, command: Sequence[str]) -> Executed:
    """Run a command in a container to its end. Raises ``ApiError``, also where the command cannot be started.

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
    """Return the exit code that the Status states. Raises ``ApiError`` for one that states none."""
    try:
        found = msgspec.json.decode(outcome, type=_Outcome)
    except (ValueError, RecursionError) as error:
        raise Unreachable("the connection ended before the command", reason="Broken", request=path) from error
    if found.status == "Success":
        return 0
    for cause in found.details.causes if found.details else ():
        if cause.reason == _EXIT and cause.message.isascii() and cause.message.isdecimal() and len(cause.message) < 4:
            return int(cause.message)
    refused: ApiError = error_from_status(read_status(outcome), request=path)
    raise refused
