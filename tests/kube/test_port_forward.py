"""A connection to a port of a pod whose node reports its failure later than usual."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from muster.api.errors import ApiError
from muster.kube import execution
from muster.kube.execution import ERROR_CHANNEL, PROTOCOL, dial


class Late:
    """A WebSocket that opens at once, and delivers an error when the test asks for it."""

    def __init__(self) -> None:
        self.fails = asyncio.Event()

    @asynccontextmanager
    async def socket(self, path: str, *, params: Any, protocols: Any) -> AsyncIterator[Any]:
        assert (path.rpartition("/")[2], params, protocols) == ("portforward", [("ports", "80")], (PROTOCOL,))
        yield self

    async def send_bytes(self, data: bytes) -> None:
        """Take the bytes, and answer nothing."""

    async def __aiter__(self) -> AsyncIterator[Any]:
        await self.fails.wait()
        frame = bytes((ERROR_CHANNEL, 0, 80)) + b"connection refused"
        yield SimpleNamespace(type=aiohttp.WSMsgType.BINARY, data=frame)


async def test_a_failure_after_the_usual_time_is_told_before_the_connection_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(execution, "LEAST", 0.0)
    sockets, late = Late(), list[ApiError]()
    reader, writer = await dial(sockets, "team", "p", 80, limit=100, late=late.append, carried_by=set())
    assert late == []
    sockets.fails.set()
    assert await reader.read() == b""
    assert [each.message for each in late] == ["connection refused"]
    writer.transport.abort()
