"""The client's door to an API server: ``muster.kube.transport.Transport`` over kubernetes-asyncio's REST client.

kubernetes-asyncio supplies TLS, proxies and credentials. It has no time limit of its own and does not look at the
status of a streamed answer, so both are done here: every request has a timeout, and every status from 300 on becomes
an ``ApiError``. A credential that ran out (401) is read anew once, because a token of an exec plugin lives for
minutes only.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import aiohttp
import msgspec

from muster.api.errors import ApiError, Forbidden, Unreachable, error_of
from muster.client.configuration import Access, find_access
from muster.client.lines import split_lines
from muster.kube.transport import Answer

if TYPE_CHECKING:
    from kubernetes_asyncio.client import ApiClient

REQUEST_SECONDS = 30.0
CONNECT_SECONDS = 10.0
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_MESSAGE = 400


class Connection:
    """An open connection. Make it with ``Connection.open`` and ``close`` it, or use it as an async context manager."""

    def __init__(self, access: Access, kubeconfig: Path | None, context: str | None) -> None:
        self._kubeconfig = kubeconfig
        self._context = context
        self._use(access)

    @classmethod
    async def open(cls, kubeconfig: Path | None = None, context: str | None = None) -> Connection:
        """Read the configuration; no request is sent yet. Raises ``NoCluster``."""
        return cls(await find_access(kubeconfig, context), kubeconfig, context)

    @property
    def namespace(self) -> str:
        """The namespace of the chosen context."""
        return self._access.namespace

    @property
    def source(self) -> str:
        """Where the configuration came from."""
        return self._access.source

    async def close(self) -> None:
        """Close every socket."""
        await self._api.close()

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

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
        """See ``Transport.request``."""
        seconds = REQUEST_SECONDS if timeout is None else timeout
        limit = aiohttp.ClientTimeout(total=seconds)
        what = f"{method} {path}"
        try:
            response = await self._send(method, path, params or {}, body, content_type, limit)
            async with response:
                return Answer(response.status, await response.read())
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._unreachable(error, what, seconds) from error

    @contextlib.asynccontextmanager
    async def lines(
        self, path: str, *, params: Mapping[str, str], silence: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """See ``Transport.lines``; ``silence`` may be infinite."""
        reading = None if math.isinf(silence) else silence
        limit = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=reading)
        what = f"GET {path}"
        try:
            response = await self._send("GET", path, params, None, "application/json", limit)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._unreachable(error, what, silence) from error
        async with response:
            yield self._guarded(split_lines(response.content.iter_any()), what, silence)

    async def _guarded(self, lines: AsyncIterator[bytes], what: str, silence: float) -> AsyncIterator[bytes]:
        try:
            async for line in lines:
                yield line
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._unreachable(error, what, silence) from error

    async def _send(
        self,
        method: str,
        path: str,
        params: Mapping[str, str],
        body: bytes | None,
        content_type: str,
        limit: aiohttp.ClientTimeout,
    ) -> aiohttp.ClientResponse:
        try:
            return await self._send_once(method, path, params, body, content_type, limit)
        except Forbidden as error:
            if error.status != 401:
                raise
        await self._api.close()
        self._use(await find_access(self._kubeconfig, self._context))
        return await self._send_once(method, path, params, body, content_type, limit)

    async def _send_once(
        self,
        method: str,
        path: str,
        params: Mapping[str, str],
        body: bytes | None,
        content_type: str,
        limit: aiohttp.ClientTimeout,
    ) -> aiohttp.ClientResponse:
        headers = {"Accept": "application/json", "Content-Type": content_type, "User-Agent": "muster"}
        await self._api.update_params_for_auth(headers, [], ["BearerToken"])
        response: aiohttp.ClientResponse = await self._api.rest_client.request(
            method,
            self._host + path,
            query_params=dict(params),
            headers=headers,
            # the REST client encodes JSON bodies itself; JSON that is encoded already must reach it as an object
            body=None if body is None else msgspec.json.decode(body),
            _preload_content=False,
            _request_timeout=limit,
        )
        if response.status < 300:
            return response
        async with response:
            raise _refusal(response.status, response.headers, await response.read(), f"{method} {path}")

    def _use(self, access: Access) -> None:
        from kubernetes_asyncio.client import ApiClient

        self._access = access
        self._host = (access.configuration.host or "").rstrip("/")
        self._api: ApiClient = ApiClient(access.configuration)
        if urlsplit(self._host).hostname in LOOPBACK:
            _without_proxies(self._api)

    def _unreachable(self, error: Exception, what: str, seconds: float) -> Unreachable:
        if isinstance(error, TimeoutError):
            reason = f"no answer within {seconds:g} s"
        else:
            reason = str(error) or type(error).__name__
        return Unreachable(
            f"{self._access.configuration.host} (from {self._access.source}): {reason}; is the cluster running?",
            request=what,
        )


def _without_proxies(api: ApiClient) -> None:
    """Exchange the session for one that ignores $HTTP_PROXY, which would look for 127.0.0.1 on the proxy's machine."""
    session = api.rest_client.pool_manager
    api.rest_client.pool_manager = aiohttp.ClientSession(connector=session.connector, trust_env=False)
    session.detach()


def _refusal(status: int, headers: Mapping[str, str], body: bytes, what: str) -> ApiError:
    """The error in an answer: its Status object where the server sent one, else the beginning of its text."""
    reason, message = "", body[:_MESSAGE].decode(errors="replace").strip()
    with contextlib.suppress(msgspec.DecodeError):
        document: Any = msgspec.json.decode(body)
        if isinstance(document, dict):
            reason = str(document.get("reason") or "")
            message = str(document.get("message") or message)
    retry_after = headers.get("Retry-After", "")  # seconds; its other form, a date, is not used by API servers
    return error_of(
        status, reason, message, retry_after=float(retry_after) if retry_after.isdecimal() else None, request=what
    )
