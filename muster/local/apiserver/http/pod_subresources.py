"""The pod subresources log, binding, exec and portforward.

exec (`kubectl exec POD -- COMMAND`, `muster stacks`) and portforward (`muster port-forward`) use a WebSocket.
"""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from aiohttp import WSMsgType, web

from muster.api.values.timestamps import seconds_of, whole_time
from muster.local.apiserver.errors import ApiError, bad_request, conflict, not_found
from muster.local.apiserver.http import bodies
from muster.local.apiserver.http.bodies import Query, RequestInfo, json_reply
from muster.local.apiserver.objects.object_store import ObjectStore
from muster.local.apiserver.storage.stored_objects import Json, encode

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


async def answer_exec(
    request: web.BaseRequest, commands: PodCommands, where: tuple[str, str, str], command: Sequence[str]
) -> web.StreamResponse:
    """Run a command over this WebSocket, to its end. ``where`` is namespace, pod and container.

    Standard output and standard error are one stream, as in logs. There is no standard input or terminal.
    """
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


PROTOCOL = "v4.channel.k8s.io"
DATA, ERRORS = b"\x00", b"\x01"
"""First byte of a frame."""
AT_ONCE = 2**16
"""Bytes of one frame."""


async def answer_port_forward(request: web.BaseRequest, pod: str, address: str, port: int) -> web.StreamResponse:
    """Carry one connection to one port of a pod over this WebSocket, until one side ends.

    Channel 0 is the data, channel 1 an error in words, and the first frame of each brings the port (v4.channel.k8s.io).
    """
    socket = web.WebSocketResponse(protocols=(PROTOCOL,))
    await socket.prepare(request)
    for channel in (DATA, ERRORS):
        await socket.send_bytes(channel + port.to_bytes(2, "little"))
    try:
        reader, writer = await asyncio.open_connection(address, port)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        await socket.send_bytes(ERRORS + f"port {port} of pod {pod}: {why}".encode())
        await socket.close()
        return socket
    await _carry(socket, reader, writer)
    return socket


async def _carry(socket: web.WebSocketResponse, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:

    async def there() -> None:
        async for message in socket:
            if message.type is WSMsgType.BINARY and message.data[:1] == DATA:
                writer.write(message.data[1:])
                await writer.drain()

    async def back() -> None:
        while data := await reader.read(AT_ONCE):
            await socket.send_bytes(DATA + data)

    tasks = (asyncio.create_task(there()), asyncio.create_task(back()))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        writer.close()
        await asyncio.gather(*tasks, writer.wait_closed(), return_exceptions=True)
        await socket.close()


_SUCCESS: Json = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


class PodLogs(Protocol):
    """Source of container output; the node agent implements it. Raises FileNotFoundError if a container has no log."""

    def read(
        self,
        namespace: str,
        pod: str,
        container: str,
        *,
        previous: bool,
        follow: bool,
        tail: int | None,
        since: float | None,
        timestamps: bool,
    ) -> AsyncIterator[bytes]:
        """Yield chunks of output, with `follow` until the container ends. `since` is in wall-clock seconds."""
        ...


@dataclass(slots=True, eq=False)
class PodSubresources:
    """Handlers of the subresources; `logs` and `commands` are those of the node agent, None before one runs."""

    store: ObjectStore
    clock: Callable[[], float]
    logs: PodLogs | None = None
    commands: PodCommands | None = None

    async def bind(self, request: web.BaseRequest, info: RequestInfo, _query: Query) -> web.StreamResponse:
        """Bind a pod to a node. A bound pod cannot be bound again."""
        body = bodies.decode(await bodies.read_body(request), request.content_type)
        node = ((body.get("target") if isinstance(body, dict) else None) or {}).get("name")
        if not isinstance(node, str) or not node:
            raise bad_request("target.name: Required value: name the node")
        stored = self.store.get(info.resource, info.namespace, info.name)
        pod = stored.object()
        if pod["spec"].get("nodeName"):
            why = f"pod {info.name} is already assigned to node {pod['spec']['nodeName']!r}"
            raise conflict("pods/binding", info.name, why)
        if pod["spec"].get("schedulingGates"):
            raise conflict("pods/binding", info.name, f"pod {info.name} has non-empty .spec.schedulingGates")
        if stored.terminating:
            raise conflict("pods/binding", info.name, f"pod {info.name} is being deleted, cannot be assigned to a host")
        pod["spec"]["nodeName"] = node
        status = pod.setdefault("status", {})
        kept = [c for c in status.get("conditions") or () if c.get("type") != "PodScheduled"]
        scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": whole_time(self.clock())}
        status["conditions"] = [*kept, scheduled]
        self.store.versions.put(stored.group_resource, pod)
        return json_reply(encode(_SUCCESS), 201)

    async def log(self, request: web.BaseRequest, info: RequestInfo, query: Query) -> web.StreamResponse:
        """Stream the output of a container."""
        pod = self.store.get(info.resource, info.namespace, info.name).object()
        container = container_of(pod, query.text("container"), info.name)
        if self.logs is None:
            raise ApiError(503, "ServiceUnavailable", "no node agent serves container logs yet; try again")
        limit = query.number("limitBytes")
        stream = self.logs.read(
            info.namespace,
            info.name,
            container,
            previous=query.flag("previous"),
            follow=query.flag("follow"),
            tail=query.number("tailLines"),
            since=self._since(query),
            timestamps=query.flag("timestamps"),
        )
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        try:
            chunk = await anext(stream, b"")
        except FileNotFoundError as failure:
            which = "previous terminated container" if query.flag("previous") else "container"
            message = f'{which} "{container}" in pod "{info.name}" not found or waiting to start: it has no log'
            raise ApiError(400, "BadRequest", message) from failure
        response.enable_chunked_encoding()
        await response.prepare(request)
        try:
            while chunk:
                if limit is not None:
                    chunk = chunk[:limit]
                    limit -= len(chunk)
                await response.write(chunk)
                if limit == 0:
                    break
                chunk = await anext(stream, b"")
            await response.write_eof()
        except ConnectionError:
            raise
        except OSError as failure:
            # The response has started; closing the connection is the only way left to report an error.
            raise ConnectionResetError("reading the log failed") from failure
        finally:
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()
        return response

    async def exec(self, request: web.BaseRequest, info: RequestInfo, query: Query) -> web.StreamResponse:
        """Run a command in a container."""
        pod = self.store.get(info.resource, info.namespace, info.name).object()
        container = container_of(pod, query.text("container"), info.name)
        command = request.query.getall("command", [])
        if not command or query.flag("stdin") or query.flag("tty"):
            raise bad_request("you must specify a command, without stdin and tty, on the local cluster")
        if self.commands is None:
            raise ApiError(503, "ServiceUnavailable", "no node agent runs commands yet; try again")
        _require_websocket(request, "takes exec")
        return await answer_exec(request, self.commands, (info.namespace, info.name, container), command)

    async def forward(self, request: web.BaseRequest, info: RequestInfo, query: Query) -> web.StreamResponse:
        """Carry one connection to a port of the pod, at its own address, which this machine reaches."""
        pod = self.store.get(info.resource, info.namespace, info.name).object()
        port = query.number("ports") or 0
        if not 0 < port < 65_536:
            raise bad_request("ports: one number from 1 to 65535 is expected")
        address = pod.get("status", {}).get("podIP", "")
        if not address:
            raise bad_request(f"pod {info.name} has no address: it does not run")
        _require_websocket(request, "forwards ports")
        return await answer_port_forward(request, info.name, address, port)

    def _since(self, query: Query) -> float | None:
        seconds = query.number("sinceSeconds")
        if seconds is not None:
            return self.clock() - seconds
        text = query.text("sinceTime")
        if not text:
            return None
        moment = seconds_of(text)
        if not moment:
            raise bad_request(f'sinceTime: Invalid value: "{text}": must be a time such as 2026-01-02T03:04:05Z')
        return moment


def _require_websocket(request: web.BaseRequest, what: str) -> None:
    if not web.WebSocketResponse().can_prepare(request).ok:
        raise bad_request(f"Upgrade request required: the local cluster {what} over WebSocket only")


def container_of(pod: Json, asked: str, name: str) -> str:
    """Return the container that a request means: the one that it asks for, else the only one or the default one."""
    spec = pod["spec"]
    main = [str(c["name"]) for c in spec["containers"]]
    every = [*(str(c["name"]) for c in spec.get("initContainers") or ()), *main]
    if asked:
        if asked not in every:
            raise bad_request(f"container {asked} is not valid for pod {name}")
        return asked
    if len(every) > 1:
        default = (pod["metadata"].get("annotations") or {}).get("kubectl.kubernetes.io/default-container")
        if default in every:
            return str(default)
        listed = " ".join(every)
        raise bad_request(f"a container name must be specified for pod {name}, choose one of: [{listed}]")
    if not every:
        raise not_found("pods", name)
    return every[0]
