"""Requests of the native engine: bounded in number, and otherwise the transport's."""

import asyncio
from collections.abc import Callable, Mapping

from muster.api.wire import Answer, Transport


class Calls:
    """At most ``concurrency`` requests at a time, over all experiments. ``now`` gives wall seconds since 1970."""

    def __init__(self, transport: Transport, *, concurrency: int, now: Callable[[], float]) -> None:
        self.concurrency = concurrency
        self.now = now
        self._transport = transport
        self._slots = asyncio.Semaphore(concurrency)

    async def do(
        self, method: str, path: str, *, params: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Answer:
        """One request, as soon as there is a free place."""
        async with self._slots:
            return await self._transport.request(method, path, params=params, body=body)
