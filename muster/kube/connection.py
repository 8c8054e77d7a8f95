"""The connection to an API server: ``muster.kube.transport.Transport`` over HTTP/1.1, with aiohttp.

Daemon, SDK, command line and node agent use it; address and credentials come from a ``Source``. Every request has a
time limit that includes its waits and retries, every watch a limit of silence, and the sockets have keepalive below
both. Only ``ApiError`` is raised.
"""

import asyncio
import math
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from muster.api.errors import Throttled, Unreachable
from muster.kube.authentication.credentials import Credentials, Identity, Source
from muster.kube.authentication.kubeconfig import choose_source
from muster.kube.http import FAILURES, LARGEST_ANSWER, address, make_socket, read_body, read_lines, unreachable
from muster.kube.transport import LONGEST_STATUS, Answer, error_from_answer

USER_AGENT = "muster"
"""The daemon's user agent. The API server names the field manager of a write after it."""

TIMEOUT = 30.0
"""Seconds for a request without a limit of its own."""

TIMEOUT_REASON = "Timeout"
"""The reason of the error of a request that had no answer within its time limit."""

CONNECT = 10.0
"""Seconds to reach the server."""

MOST_WAITS = 10
"""Most repeats of a request after a Retry-After (client-go: rest/request.go, maxRetries)."""


_PARTIAL = ";g=meta.k8s.io;v=v1,application/json"


class Connection:
    """A ``Transport``. ``requests`` counts by method and HTTP status (0: no answer), watches as ``WATCH``."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        agent: str = USER_AGENT,
        impersonate: str = "",
    ) -> None:
        """Call it on the loop that will use it. With ``impersonate`` every request is sent as that user."""
        self.credentials = credentials
        self.requests: Counter[tuple[str, int]] = Counter()
        self.retried: Callable[[str, str], None] = lambda _method, _path: None
        """A callback for every request that is sent again because the server asked to wait."""
        self.metadata_alone: Collection[str] = ()
        """Paths of collections whose objects are read as metav1.PartialObjectMetadata, which has no spec or status."""
        self._clock = clock
        self._sleep = sleep
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, socket_factory=make_socket),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            read_bufsize=2**21,
            # identity: inside a cluster, compression costs both sides more than it saves
            headers={"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": agent}
            | ({"Impersonate-User": impersonate} if impersonate else {}),
        )

    @classmethod
    async def open(cls, source: Source, *, agent: str = USER_AGENT, impersonate: str = "") -> "Connection":
        """Return a connection with the credentials of ``source``; no request is sent yet.

        Raises ``ApiError`` if the source cannot be used.
        """
        credentials = Credentials(source, clock=time.monotonic, wall=time.time)
        await credentials.current()
        return cls(credentials, agent=agent, impersonate=impersonate)

    @classmethod
    async def from_settings(cls, kubeconfig: Path | None = None, context: str | None = None) -> "Connection":
        """Return a daemon's connection (see ``choose_source``). Raises ``ApiError`` without a usable configuration."""
        return await cls.open(choose_source(kubeconfig, context, os.environ))

    @property
    def namespace(self) -> str:
        """The namespace of the context."""
        return self.credentials.namespace

    async def aclose(self) -> None:
        """Close every connection; what still runs on them fails as ``Unreachable``."""
        await self.credentials.aclose()
        await self._session.close()

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        timeout: float | None = None,
    ) -> Answer:
        """Send one request; see ``Transport``.

        It is sent again after a 401 with renewed credentials, and, as long as ``timeout`` allows, after a wait that the
        server asked for: after 429 and 503, and for reads after any 5xx (a write that failed otherwise may have been
        carried out).
        """
        timeout = TIMEOUT if timeout is None else timeout
        deadline = self._clock() + timeout
        name = f"{method} {path}"
        try:
            async with asyncio.timeout(timeout):
                for _ in range(MOST_WAITS):
                    try:
                        return await self._once(method, path, params, body, content_type)
                    except Throttled as error:
                        wait = error.retry_after or 0.0
                        again = method == "GET" or error.status in (429, 503)
                        if error.retry_after is None or not again or self._clock() + wait >= deadline:
                            raise
                    await self._sleep(wait)
                    self.retried(method, path)
                return await self._once(method, path, params, body, content_type)
        except TimeoutError as error:
            self.requests[method, 0] += 1
            problem = f"{self.credentials.place}: no answer within {timeout:g} s"
            raise Unreachable(problem, reason=TIMEOUT_REASON, request=name) from error

    async def _once(
        self, method: str, path: str, params: Mapping[str, str] | None, body: bytes | None, content_type: str
    ) -> Answer:
        headers = {"Content-Type": content_type} if body is not None else self._accepted(method, path, "List")
        patience = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT)
        async with self._answered(method, path, params or {}, patience, data=body, headers=headers) as response:
            self.requests[method, response.status] += 1
            try:
                body = await read_body(response, LARGEST_ANSWER)
                return Answer(response.status, body, response.headers.get("Date", ""))
            except FAILURES as error:
                raise unreachable(error, f"{method} {path}") from error

    @asynccontextmanager
    async def lines(
        self, path: str, *, params: Mapping[str, str], silence: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch or a log; see ``Transport``.

        It is not opened again here: only the caller knows where to continue. A followed log may be silent forever, from
        the start (the kubelet sends no headers before the first line); it then relies on keepalive.
        """
        limit = silence if math.isfinite(silence) else None
        patience = aiohttp.ClientTimeout(total=None, connect=min(CONNECT, silence), sock_read=limit)
        name = f"GET {path}"
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(limit):
                    headers = self._accepted("GET", path)
                    opening = self._answered("GET", path, params, patience, counted="WATCH", headers=headers)
                    response = await stack.enter_async_context(opening)
            except TimeoutError as error:
                self.requests["WATCH", 0] += 1
                problem = f"{self.credentials.place}: not opened within {silence:g} s"
                raise Unreachable(problem, reason="Silent", request=name) from error
            self.requests["WATCH", response.status] += 1
            yield await stack.enter_async_context(aclosing(read_lines(response, name, silence)))

    def _accepted(self, method: str, path: str, suffix: str = "") -> dict[str, str]:
        """Return an unusual Accept header for a request, if any. A server without that form sends all."""
        if method != "GET" or path not in self.metadata_alone:
            return {}
        return {"Accept": f"application/json;as=PartialObjectMetadata{suffix}{_PARTIAL}"}

    @asynccontextmanager
    async def socket(
        self, path: str, *, params: Sequence[tuple[str, str]], protocols: Sequence[str]
    ) -> AsyncIterator["aiohttp.ClientWebSocketResponse[bool]"]:
        """Open a WebSocket; see ``muster.kube.execution``. Raises ``ApiError``, also if the connection breaks."""
        identity = await self.credentials.current()
        name = f"GET {path}"
        try:
            try:
                opened = await self._upgrade(identity, path, params, protocols)
            except aiohttp.WSServerHandshakeError as error:
                self.requests["SOCKET", error.status] += 1
                if error.status != 401:
                    raise
                opened = await self._upgrade(await self.credentials.renew(identity), path, params, protocols)
            self.requests["SOCKET", 101] += 1
            async with opened:
                yield opened
        except aiohttp.WSServerHandshakeError as error:
            # The body of the refusal is not read: aiohttp has closed the connection.
            body = f"it was refused (HTTP status {error.status})".encode()
            raise error_from_answer(error.status, error.headers or {}, body, name) from error
        except FAILURES as error:
            raise unreachable(error, name, place=self.credentials.place) from error

    async def _upgrade(
        self, identity: Identity, path: str, params: Sequence[tuple[str, str]], protocols: Sequence[str]
    ) -> "aiohttp.ClientWebSocketResponse[bool]":
        # API servers since 1.36 forward the headers to the kubelet, which answers 406 if JSON alone is accepted.
        headers = {"Accept": "*/*", "Authorization": identity.authorization or ""}
        opened: aiohttp.ClientWebSocketResponse[bool] = await self._session.ws_connect(
            address(identity.host, path, {}).with_query(params),
            protocols=protocols,
            headers={name: value for name, value in headers.items() if value},
            max_msg_size=LARGEST_ANSWER,
            **self._way(identity, f"GET {path}"),
        )
        return opened

    @asynccontextmanager
    async def _answered(
        self,
        method: str,
        path: str,
        params: Mapping[str, str],
        timeout: aiohttp.ClientTimeout,
        *,
        counted: str | None = None,
        **options: Any,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Yield the response to a request that the server accepted; its connection is released or closed at the end."""
        name, counted = f"{method} {path}", counted or method
        identity = await self.credentials.current()
        response = await self._send(identity, method, path, params, timeout, counted, **options)
        if response.status == 401:
            self.requests[counted, 401] += 1
            response.close()
            identity = await self.credentials.renew(identity)
            response = await self._send(identity, method, path, params, timeout, counted, **options)
        try:
            if response.status >= 300:
                self.requests[counted, response.status] += 1
                try:
                    text = await read_body(response, LONGEST_STATUS, cut=True)
                except FAILURES:
                    text = b""
                raise error_from_answer(response.status, response.headers, text, name)
            yield response
        finally:
            if response.content.is_eof():
                response.release()
            else:
                response.close()

    async def _send(
        self,
        identity: Identity,
        method: str,
        path: str,
        params: Mapping[str, str],
        timeout: aiohttp.ClientTimeout,
        counted: str,
        **options: Any,
    ) -> aiohttp.ClientResponse:
        headers = options.pop("headers", {})
        if identity.authorization:
            headers = headers | {"Authorization": identity.authorization}
        name = f"{method} {path}"
        way = self._way(identity, name)
        try:
            return await self._session.request(
                method,
                address(identity.host, path, params),
                headers=headers,
                timeout=timeout,
                allow_redirects=False,  # an API server does not redirect, and no other server may see the token
                **way,
                **options,
            )
        except FAILURES as error:
            self.requests[counted, 0] += 1
            raise unreachable(error, name, silence=timeout.sock_read, place=self.credentials.place) from error

    def _way(self, identity: Identity, name: str) -> dict[str, Any]:
        """Return how aiohttp reaches the server as that identity. Raises ``Unreachable`` once this was closed."""
        if self._session.closed:
            raise Unreachable("the connection has been closed", reason="Closed", request=name)
        tls = identity.tls if identity.tls is not None else True
        return {"ssl": tls, "server_hostname": identity.server_name, "proxy": identity.proxy}
