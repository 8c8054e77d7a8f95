"""The pod subresource exec, over a WebSocket: `kubectl exec POD -- COMMAND` and `muster stacks`.

Standard output and standard error of the command are one stream, as in logs. There is no standard input or terminal.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from aiohttp import web

from muster.local.apiserver.errors import ApiError, bad_request
from muster.local.apiserver.http.pod_subresources import container_of
from muster.local.apiserver.http.request_info import Query, RequestInfo
from muster.local.apiserver.objects.object_store import ObjectStore
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


class PodExec:
    """The handler. `commands` returns what runs commands, None before a node agent runs."""

    def __init__(self, store: ObjectStore, commands: Callable[[], PodCommands | None]) -> None:
        self._store = store
        self._commands = commands

    async def exec(self, request: web.BaseRequest, info: RequestInfo, query: Query) -> web.StreamResponse:
        """Run a command in a container."""
        pod = self._store.get(info.resource, info.namespace, info.name).object()
        container = container_of(pod, query.text("container"), info.name)
        command = request.query.getall("command", [])
        if not command or query.flag("stdin") or query.flag("tty"):
            raise bad_request("you must specify a command, without stdin and tty, on the local cluster")
        commands = self._commands()
        if commands is None:
            raise ApiError(503, "ServiceUnavailable", "no node agent runs commands yet; try again")
        if not web.WebSocketResponse(protocols=PROTOCOLS).can_prepare(request).ok:
            raise bad_request("Upgrade request required: the local cluster takes exec over WebSocket only")
        return await answer(request, commands, (info.namespace, info.name, container), command)


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
    """Return metav1.Status."""
    if code is None:
        message = f'container not found ("{container}") in pod "{pod}": it does not run'
        return {"status": "Failure", "reason": "NotFound", "message": message, "code": 404}
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    cause = {"reason": "ExitCode", "message": str(code)}
    message = f"command terminated with non-zero exit code: exit status {code}"
    return {"status": "Failure", "reason": "NonZeroExitCode", "message": message, "details": {"causes": [cause]}}
