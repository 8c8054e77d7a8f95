"""The fault proxy: HTTP/1.1 between one musterd and the API server, with the faults of one plan.

It forwards every request and keeps a record of it. ``tests.faults.plans`` describes the kinds of faults.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

import aiohttp

from muster.api.names import LABEL_EPOCH, LABEL_RANK
from tests.fakes.apiserver import Reply, Request, api_server, bookmark, error_event, refusal
from tests.faults.direct import Direct
from tests.faults.plans import RETRY_AFTER, STREAMS, Fault, Plan

REASONS = {
    "403": (403, "Forbidden", "exceeded quota: pods, requested: 1, used: 10, limited: 10"),
    "409": (409, "Conflict", "the object has been modified; please apply your changes to the latest version"),
    "410": (410, "Expired", "too old resource version"),
    "429": (429, "TooManyRequests", "too many requests, please try again later"),
    "500": (500, "InternalError", "etcdserver: request timed out"),
    "504": (504, "Timeout", "request did not complete within the allotted timeout"),
}
NO_FAULT = Fault("", "")
HEARTBEAT = 0.5
"""Seconds between the bookmarks of a ``hold``."""


@dataclass(slots=True)
class ForwardedRequest:
    """One request of musterd and its outcome. ``status`` is the API server's (0: not forwarded)."""

    name: str
    """The name by which a plan finds it; see ``tests.faults.plans``."""
    path: str
    at: float
    status: int = 0
    refused: str = ""
    """The answer that the proxy gave instead of the API server."""
    creates: tuple[int, int] | None = None
    """Epoch and rank of the pod that it creates."""

    @property
    def verb(self) -> str:
        return self.name.split("-")[0]

    @property
    def writes(self) -> bool:
        return self.verb in ("POST", "PUT", "PATCH", "DELETE")


@dataclass(slots=True)
class Proxy:
    """Injects each fault once. ``crash`` kills musterd and starts it again later."""

    direct: Direct
    plan: Plan
    crash: Callable[[], Awaitable[None]]
    clock: Callable[[], float] = time.monotonic
    forwarded: list[ForwardedRequest] = field(default_factory=list)
    lines: Counter[str] = field(default_factory=Counter)
    """Number of lines of each stream, without bookmarks."""
    injected: dict[Fault, float] = field(default_factory=dict)
    """When each fault was injected."""
    watching: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when every stream was opened at least once."""
    _counts: Counter[str] = field(default_factory=Counter)
    _open: set[str] = field(default_factory=set)
    _newest: dict[str, ForwardedRequest] = field(default_factory=dict)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Serve on a free port; yields the URL."""
        async with api_server(otherwise=self.step) as server:
            yield server.url

    @property
    def last_write(self) -> float:
        """When musterd last sent a write, whatever its outcome."""
        return max((each.at for each in self.forwarded if each.writes), default=0.0)

    async def step(self, request: Request, reply: Reply) -> None:
        """Handle one request."""
        sent = self._record(request)
        fault = self._fault(sent.name)
        if request.watches:
            await self._watch(request, reply, sent, fault)
            return
        match fault.kind:
            case "crash-before":
                await self.crash()
                reply.reset()
                return
            case "late":
                await self.crash()
                await asyncio.sleep(fault.seconds)
            case "refuse":
                await self._refuse(fault, request, reply, sent)
                return
        status, headers, body = await self._forward(request)
        sent.status = status
        match fault.kind:
            case "crash-after":
                await self.crash()
                reply.reset()
            case "crash-told":
                await reply.send(status, body, **headers)
                await self.crash()
            case "lose":
                await self._lose(fault, request, reply, body)
            case "delay":
                await asyncio.sleep(fault.seconds)
                await reply.send(status, body, **headers)
            case "late":
                reply.reset()
            case _:
                await reply.send(status, body, **headers)

    def _record(self, request: Request) -> ForwardedRequest:
        parts = request.path.strip("/").split("/")
        inside = parts[parts.index("namespaces") + 2 :] if "namespaces" in parts else parts[-1:]
        verb = request.method
        if request.watches:
            verb = "WATCH"
        elif verb == "GET" and len(inside) == 1:
            verb = "LIST"
        kind = f"{verb}-{inside[0]}"
        if kind == "PUT-experiments":
            status = json.loads(request.body)["status"]
            kind += f".{status['phase']}{status.get('epoch', 0)}"
        self._counts[kind] += 1
        sent = ForwardedRequest(f"{kind}-{self._counts[kind]}", request.path, self.clock())
        if kind == "POST-pods":
            labels = json.loads(request.body)["metadata"]["labels"]
            sent.creates = (int(labels[LABEL_EPOCH]), int(labels[LABEL_RANK]))
        self.forwarded.append(sent)
        return sent

    def _fault(self, at: str) -> Fault:
        """The fault for that place, recorded as injected, or none."""
        for fault in self.plan.faults:
            if fault.at == at and fault not in self.injected:
                self.injected[fault] = self.clock()
                return fault
        return NO_FAULT

    def _upstream(self, request: Request, timeout: float | None) -> "aiohttp.client._RequestContextManager":
        return self.direct.session.request(
            request.method,
            self.direct.url + request.path,
            params=request.params,
            data=request.body or None,
            headers={name: request.headers[name] for name in _PASSED if name in request.headers},
            timeout=aiohttp.ClientTimeout(total=timeout),
        )

    async def _forward(self, request: Request) -> tuple[int, dict[str, str], bytes]:
        async with self._upstream(request, 60.0) as answer:
            after = answer.headers.get("Retry-After")
            return answer.status, {"Retry_After": after} if after else {}, await answer.read()

    async def _refuse(self, fault: Fault, request: Request, reply: Reply, sent: ForwardedRequest) -> None:
        sent.refused = fault.how
        if fault.how == "reset":
            reply.reset()
            return
        code, reason, message = REASONS[fault.how]
        waits = {"Retry_After": str(RETRY_AFTER)} if fault.how == "429" else {}
        await refusal(code, reason, message, **waits)(request, reply)

    async def _lose(self, fault: Fault, request: Request, reply: Reply, body: bytes) -> None:
        match fault.how:
            case "reset":
                reply.reset()
            case "half":
                head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
                await reply.raw(head.encode() + body[: len(body) // 2])
                reply.writer.close()
            case how:
                code, reason, message = REASONS[how]
                await refusal(code, reason, message)(request, reply)

    # Watches

    async def _watch(self, request: Request, reply: Reply, sent: ForwardedRequest, fault: Fault) -> None:
        if fault is not NO_FAULT:
            await self._refuse(fault, request, reply, sent)
            return
        async with self._upstream(request, None) as answer:
            sent.status = answer.status
            if answer.status >= 300:
                await reply.send(answer.status, await answer.read())
                return
            await reply.begin()
            stream = sent.name.split("-")[1]
            self._newest[stream] = sent
            if "resourceVersion" in request.params:  # the list was read in pages before
                self._opened(stream)
            async with aclosing(_lines(answer)) as lines:
                async for line in lines:
                    if self._newest[stream] is not sent:
                        return  # musterd has opened another watch
                    if not await self._line(stream, line, reply):
                        return
            await reply.end()

    async def _line(self, stream: str, line: bytes, reply: Reply) -> bool:
        """Forward a line, or inject its fault. False: the watch is over."""
        event = json.loads(line)
        if event["type"] == "BOOKMARK":
            if (event["object"]["metadata"].get("annotations") or {}).get("k8s.io/initial-events-end"):
                self._opened(stream)
            await reply.chunk(line)
            return True
        self.lines[stream] += 1
        fault = self._fault(f"{stream}-{self.lines[stream]}")
        match fault.kind:
            case "expire":
                await reply.chunk(error_event(410, "Expired") + b"\n")
                await reply.end()
                return False
            case "cut":
                await reply.chunk(line[: len(line) // 2])
                await reply.end()
                return False
            case "sever":
                reply.reset()
                return False
            case "stall":
                await asyncio.Event().wait()
            case "hold":
                await self._hold(fault, int(event["object"]["metadata"]["resourceVersion"]) - 1, reply)
            case "double":
                await reply.chunk(line)
        await reply.chunk(line)
        return True

    def _opened(self, stream: str) -> None:
        self._open.add(stream)
        if self._open >= set(STREAMS):
            self.watching.set()

    async def _hold(self, fault: Fault, version: int, reply: Reply) -> None:
        """Send bookmarks of an older version, like a server that lags behind."""
        until = self.clock() + fault.seconds
        while self.clock() < until:
            await reply.chunk(bookmark(version) + b"\n")
            await asyncio.sleep(HEARTBEAT)


_PASSED = ("authorization", "accept", "content-type", "user-agent")


async def _lines(answer: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    while line := await answer.content.readline():
        yield line
