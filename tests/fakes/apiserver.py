"""An API server that misbehaves as scripted: each request is answered by the next step of a script.

It speaks just enough HTTP/1.1, by hand, so that a test can cut, stall and garble an answer at any byte.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.fakes.listener import stop_listening


@dataclass(frozen=True, slots=True)
class Request:
    """A request."""

    method: str
    path: str
    params: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def watches(self) -> bool:
        return self.params.get("watch") == "true"


@dataclass(slots=True)
class Reply:
    """The connection to the client."""

    writer: asyncio.StreamWriter

    async def send(self, status: int, body: bytes, **headers: str) -> None:
        """Send a whole answer of known length. Underscores in header names become dashes."""
        await self.raw(_head(status, {"Content-Length": str(len(body))} | headers) + body)

    async def begin(self, status: int = 200) -> None:
        """Send the head of a chunked answer."""
        await self.raw(_head(status, {"Transfer-Encoding": "chunked"}))

    async def chunk(self, data: bytes) -> None:
        await self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    async def end(self) -> None:
        await self.raw(b"0\r\n\r\n")

    async def raw(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def reset(self) -> None:
        """Abort the connection."""
        self.writer.transport.abort()


Step = Callable[[Request, Reply], Awaitable[None]]


@dataclass
class ApiServer:
    """Answers with ``script``, step by step, and with ``otherwise`` when the script is used up."""

    script: list[Step] = field(default_factory=list)
    otherwise: Step | None = None
    requests: list[Request] = field(default_factory=list)
    url: str = ""

    def kubeconfig(
        self, directory: Path, user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None
    ) -> Path:
        """Write a kubeconfig for this server; ``user`` replaces the token, ``cluster`` adds to the cluster entry."""
        file = directory / "kubeconfig"
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
            "clusters": [{"name": "here", "cluster": {"server": self.url} | (cluster or {})}],
            "users": [{"name": "me", "user": user if user is not None else {"token": "secret"}}],
        }
        file.write_text(json.dumps(config))
        return file

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        while True:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, ConnectionError):
                return
            request = await _parse(head, reader)
            self.requests.append(request)
            step = self.script.pop(0) if self.script else self.otherwise
            assert step is not None, f"the script is used up, but there is another request: {request}"
            try:
                await step(request, Reply(writer))
            except ConnectionError:
                return
            if writer.transport.is_closing():
                return


@asynccontextmanager
async def api_server(
    *script: Step, otherwise: Step | None = None, tls: ssl.SSLContext | None = None
) -> AsyncIterator[ApiServer]:
    """An ``ApiServer`` on a free port of loopback."""
    fake = ApiServer(list(script), otherwise)
    tasks: set[asyncio.Task[None]] = set()
    failures: list[BaseException] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await fake.serve(reader, writer)
        except AssertionError as error:
            failures.append(error)
        except asyncio.CancelledError:
            return
        finally:
            tasks.discard(task)
            writer.transport.abort()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=2**26, ssl=tls)
    fake.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield fake
    finally:
        await stop_listening(server)
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()
    if failures:
        raise failures[0]


def answer(status: int, body: Any = None, **headers: str) -> Step:
    """A whole answer; ``body`` is JSON unless it is bytes."""
    text = body if isinstance(body, bytes) else json.dumps(body or {}).encode()

    async def step(_request: Request, reply: Reply) -> None:
        await reply.send(status, text, **headers)

    return step


def refusal(code: int, reason: str, message: str = "no", **headers: str) -> Step:
    """An answer whose body is a Status."""
    return answer(code, {"kind": "Status", "code": code, "reason": reason, "message": message}, **headers)


def stream(*lines: bytes, then: str = "end") -> Step:
    """A watch of these lines (newlines are added), which then ends: ``end``, ``stall``, ``reset``."""
    return chunks(*(line + b"\n" for line in lines), then=then)


def chunks(*parts: bytes, then: str = "end") -> Step:
    """A chunked answer of exactly these bytes."""

    async def step(_request: Request, reply: Reply) -> None:
        await reply.begin()
        for part in parts:
            await reply.chunk(part)
        if then == "end":
            await reply.end()
        elif then == "reset":
            reply.reset()
        else:
            await asyncio.Event().wait()

    return step


async def hang(_request: Request, _reply: Reply) -> None:
    """Accept the request and never answer."""
    await asyncio.Event().wait()


async def slam(_request: Request, reply: Reply) -> None:
    """Close the connection instead of answering."""
    reply.reset()


def event(kind: str, obj: Any) -> bytes:
    """A watch line as the API server writes it."""
    return b'{"type":"%s","object":%s}' % (kind.encode(), json.dumps(obj, separators=(",", ":")).encode())


def bookmark(version: int, *, complete: bool = False) -> bytes:
    """A bookmark, with the null creationTimestamp of real ones."""
    annotations = {"k8s.io/initial-events-end": "true"} if complete else {}
    metadata = {"resourceVersion": str(version), "creationTimestamp": None, "annotations": annotations}
    return event("BOOKMARK", {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": {"containers": None}})


def error_event(code: int, reason: str) -> bytes:
    """An ERROR line; its ``status`` is a string, unlike a pod's."""
    return event("ERROR", {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": "gone"})


def listing(objects: Iterable[Any], version: int, proceed: str = "") -> Any:
    """The body of a list."""
    return {
        "kind": "PodList",
        "metadata": {"resourceVersion": str(version), "continue": proceed},
        "items": list(objects),
    }


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} X", "Content-Type: application/json"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def _parse(head: bytes, reader: asyncio.StreamReader) -> Request:
    first, *rest = head.decode().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    parts = urlsplit(target)
    return Request(method, parts.path, dict(parse_qsl(parts.query, keep_blank_values=True)), headers, body)
