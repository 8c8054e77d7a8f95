"""The fence: nothing a writer sends leaves this process unless it leads at that moment.

It is the last line of defence and needs nobody's help: the time to which it is open is fixed when the Lease is
renewed, and every request is checked against the clock when it is sent. So a process that was stopped (SIGSTOP, a
frozen virtual machine) and goes on in the middle of its work sends nothing, although no task of it knows yet how late
it is. Requests that are under way when the fence closes are cancelled, and with them what the transport would have
sent again by itself.

Reads of the watches do not go through here: a standby keeps its caches warm.
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
    """Open until some instant of ``monotonic``; closed at first."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._until = -inf
        self._inside: set[asyncio.Timeout] = set()

    @property
    def open(self) -> bool:
        """Requests may be sent now."""
        return self._monotonic() < self._until

    def open_until(self, instant: float) -> None:
        """Let requests pass, and go on, until that instant."""
        self._until = instant
        closes = self._closes()
        for limit in self._inside:
            if not limit.expired():
                limit.reschedule(closes)

    def close(self) -> None:
        """Let nothing pass from now on, and cancel what is under way."""
        self.open_until(-inf)

    @asynccontextmanager
    async def passing(self, request: str) -> AsyncIterator[None]:
        """Do ``request`` inside. Raises ``Fenced`` before, or ``Unreachable`` in the middle of it."""
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
                "given up: this daemon ceased to lead before the answer came", reason="NotLeading", request=request
            ) from error

    def _closes(self) -> float:
        """The end on the event loop's clock, which need not be ours."""
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
