"""The API server over HTTP: a few verbs on aiohttp, every request with a timeout, every failure an ApiError."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from muster.api.errors import Unreachable, error_of
from muster.local.node.api import WATCH_SILENCE
from muster.local.node.objects import Object

REQUEST_SECONDS = 30.0
MAX_LINE = 16 * 1024 * 1024
_BROKEN = (aiohttp.ClientError, TimeoutError, OSError, asyncio.IncompleteReadError)


class HttpApi:
    """One connection pool to one API server. Close it with `close()`."""

    def __init__(self, url: str, token: str | None) -> None:
        headers = {"Accept": "application/json", "User-Agent": "muster-node"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._session = aiohttp.ClientSession(
            url.rstrip("/") + "/",
            headers=headers,
            connector=aiohttp.TCPConnector(limit=64),
            timeout=aiohttp.ClientTimeout(total=REQUEST_SECONDS),
            read_bufsize=1024 * 1024,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    async def get(self, path: str) -> dict[str, Any]:
        """See `Api`."""
        return await self._request("GET", path)

    async def create(self, path: str, body: Object) -> dict[str, Any]:
        """See `Api`."""
        return await self._request("POST", path, body)

    async def merge(self, path: str, patch: Object) -> dict[str, Any]:
        """See `Api`."""
        return await self._request("PATCH", path, patch, "application/merge-patch+json")

    async def delete(self, path: str, options: Object) -> None:
        """See `Api`."""
        await self._request("DELETE", path, options)

    @asynccontextmanager
    async def watch(self, path: str, params: Mapping[str, str]) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        """See `Api`."""
        query = {"watch": "1", "allowWatchBookmarks": "true"} | dict(params)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=REQUEST_SECONDS, sock_read=WATCH_SILENCE)
        request = f"WATCH {path}"
        try:
            async with self._session.get(path.lstrip("/"), params=query, timeout=timeout) as response:
                if response.status >= 300:
                    raise _refused(request, response.status, await response.read())
                yield _events(response, request)
        except _BROKEN as error:
            raise Unreachable(str(error) or type(error).__name__, request=request) from error

    async def _request(
        self, method: str, path: str, body: Object | None = None, kind: str = "application/json"
    ) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = f"{method} {path}"
        try:
            async with self._session.request(
                method, path.lstrip("/"), data=data, headers={"Content-Type": kind}
            ) as response:
                answer = await response.read()
                if response.status >= 300:
                    raise _refused(request, response.status, answer)
        except _BROKEN as error:
            raise Unreachable(str(error) or type(error).__name__, request=request) from error
        return _object(answer, request)


async def _events(response: aiohttp.ClientResponse, request: str) -> AsyncIterator[dict[str, Any]]:
    rest = bytearray()
    async for chunk in response.content.iter_any():
        rest += chunk
        *whole, last = rest.split(b"\n")
        rest = bytearray(last)
        if len(rest) > MAX_LINE:
            raise Unreachable(f"a watch event is longer than {MAX_LINE} bytes", request=request)
        for line in whole:
            if line.strip():
                yield _object(bytes(line), request)


def _object(text: bytes, request: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreachable(f"the answer is no JSON: {error}", request=request) from error
    if not isinstance(value, dict):
        raise Unreachable("the answer is no JSON object", request=request)
    return value


def _refused(request: str, status: int, body: bytes) -> Exception:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = {}
    answer = answer if isinstance(answer, dict) else {}
    message = str(answer.get("message") or body[:200].decode(errors="replace"))
    return error_of(status, str(answer.get("reason") or ""), message, request=request)
