"""The pod subresource exec, over a WebSocket: `kubectl exec POD -- COMMAND` and `muster stacks`.

Standard output and standard error of the command are one stream, as in logs. There is no standard input or terminal.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from aiohttp import web

from muster.local.apiserver.storage.stored_objects import Json

PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
OUTPUT, OUTCOME = b"\x01", b"\x03"
"""First byte of a frame (apimachinery/pkg/util/remotecommand)."""

Write = Callable[[bytes], Awaitable[None]]


class PodCommands(Protocol):
    """Runs commands in containers; the node agent implements it."""

    async def execute(
        self, namespace: str, pod: str, container: str, command: Sequence[str], write: Write
    ) -> int | None:
        """Run a command to its end, and `write` its output. The exit code; None where the container does not run."""
        ...


async def answer(
    request: web.BaseRequest, commands: PodCommands, where: tuple[str, str, str], command: Sequence[str]
) -> web.StreamResponse:
    """Run a command over this WebSocket, to its end. ``where`` is namespace, pod and container."""
    namespace, pod, container = where
    socket = web.WebSocketResponse(protocols=PROTOCOLS)
    await socket.prepare(request)

    async def write(data: bytes) -> None:
        await socket.send_bytes(OUTPUT + data)

    code = await commands.execute(namespace, pod, container, command, write)
    await socket.send_bytes(OUTCOME + json.dumps(_outcome(code, container, pod)).encode())
    await socket.close()
    return socket


def _outcome(code: int | None, container: str, pod: str) -> Json:
    if code is None:
        message = f'container not found ("{container}") in pod "{pod}": it does not run'
        return {"status": "Failure", "reason": "NotFound", "message": message, "code": 404}
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    cause = {"reason": "ExitCode", "message": str(code)}
    message = f"command terminated with non-zero exit code: exit status {code}"
    return {"status": "Failure", "reason": "NonZeroExitCode", "message": message, "details": {"causes": [cause]}}
