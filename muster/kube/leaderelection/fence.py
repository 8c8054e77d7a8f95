"""The fence: a writer's request is sent only while this process leads.

The instant at which it closes is fixed when the Lease is renewed, and every request is checked against the clock when
it is sent. So a process that was suspended (SIGSTOP, a frozen virtual machine) and resumes in the middle of its work
sends nothing, although none of its tasks knows yet how late it is. Requests under way when the fence closes are
cancelled, including those that the transport would send again.

Watches do not go through the fence: a standby keeps its caches warm.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from math import inf

from muster.api.errors import ApiError, Unreachable
from muster.kube.transport import Answer, Transport


class Fenced(ApiError):
    """Not sent: this daemon does not lead."""


class Fence:
    """Open until an instant of ``monotonic``; closed at first."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._until = -inf
        self._inside: set[asyncio.Timeout] = set()

    @property
    def open(self) -> bool:
        """Requests may be sent now."""
        return self._monotonic() < self._until

    def open_until(self, instant: float) -> None:
        """Let requests start and continue until that instant."""
        self._until = instant
        closes = self._closes()
        for limit in self._inside:
            if not limit.expired():
                limit.reschedule(closes)

    def close(self) -> None:
        """Let no request pass from now on, and cancel those under way."""
        self.open_until(-inf)

    @asynccontextmanager
    async def passing(self, request: str) -> AsyncIterator[None]:
        """The context of a request. Raises ``Fenced`` before it, ``Unreachable`` when the fence closes meanwhile."""
        if not self.open:
            raise Fenced("not sent: this daemon does not lead at the moment", reason="NotLeading", request=request)
        try:
            async with asyncio.timeout_at(self._closes()) as limit:
                self._inside.add(limit)
                try:
                    yield
                finally:
                    self._inside.discard(limit)
        except TimeoutError as error:
            raise Unreachable(
                "cancelled: this daemon stopped leading before the answer came",
                reason="NotLeading",
                request=request,
            ) from error

    def _closes(self) -> float:
        """Return when it closes, on the clock of the event loop, which may be another than ``monotonic``."""
        return asyncio.get_running_loop().time() + max(0.0, self._until - self._monotonic())


class FencedTransport:
    """A ``Transport`` for writers: its requests need an open fence."""

    def __init__(self, transport: Transport, fence: Fence) -> None:
        self._transport = transport
        self._fence = fence

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
        """See ``Transport``; raises ``Fenced`` when this daemon does not lead."""
        async with self._fence.passing(f"{method} {path}"):
            return await self._transport.request(
                method, path, params=params, body=body, content_type=content_type, timeout=timeout
            )

    def lines(
        self, path: str, *, params: Mapping[str, str], silence: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """See ``Transport``: a watch writes nothing and needs no fence."""
        return self._transport.lines(path, params=params, silence=silence)
