"""A gRPC channel to one server, for unary calls.

gRPC's own client has no bound for frames that are no answer: one peer costs it a core, and memory without end.
"""

import asyncio

from muster.watchers.probes.bounded.connection import Address, Excess, Guard, Unreached
from muster.watchers.probes.bounded.grpc import PREFIX, NoAnswer, Status, framed, message_of, request_headers
from muster.watchers.probes.bounded.http2 import Link

MAX_ANSWER = 4 * 1024 * 1024
"""Bytes: 16,384 ranks take 0.3 MB; of an answer beyond this no more is read."""
_FIXED_BYTES = 64 * 1024
_RANK_BYTES = 8 * 1024
"""A rank takes 20 bytes; one that failed its error's text too, and that twice."""


def most_bytes(expected: int | None) -> int:
    """The largest answer that is read from the coordinator of so many processes (None: of any number)."""
    return MAX_ANSWER if expected is None else min(MAX_ANSWER, _FIXED_BYTES + _RANK_BYTES * expected)


class Channel:
    """Calls to one server: it connects with the first call, and with the first one after the connection has ended."""

    def __init__(self, address: Address, expected: int | None = None) -> None:
        """`expected` is the number of processes, which bounds the size of an answer."""
        self._address, self._most = address, PREFIX + most_bytes(expected)
        self._guard = Guard()
        self._link: Link | None = None
        self._connecting = asyncio.Lock()
        self.closed = False

    @property
    def connected(self) -> bool:
        """Whether the connection is up. After it was lost, another process may be at its other end."""
        return self._link is not None and self._link.open

    def check(self) -> None:
        """Raise `NoAnswer` while the server is left alone for what it sent."""
        try:
            self._guard.check()
        except Excess as error:
            raise _cut_off(error) from None

    async def unary(self, method: str, message: bytes, deadline: float | None) -> bytes:
        """The answer to one call, within so many seconds (None: whenever it comes).

        Raises `NoAnswer` for every other end of the call.
        """
        headers = request_headers(method, str(self._address), deadline)
        try:
            async with asyncio.timeout(deadline):
                link = await self._open()
                answer = await link.post(headers, framed(message))
        except TimeoutError:
            raise NoAnswer(Status.DEADLINE_EXCEEDED, "no answer within the deadline") from None
        except Excess as error:
            raise _cut_off(error) from None
        return message_of(answer.headers, answer.body)

    async def renew(self) -> None:
        """Close the connection and end the calls on it; the next call opens another one."""
        link, self._link = self._link, None
        if link is not None:
            await link.close()

    async def close(self) -> None:
        """Close the connection for good and end the calls on it."""
        self.closed = True
        await self.renew()

    async def _open(self) -> Link:
        async with self._connecting:
            link = self._link
            if link is None or not link.open:
                await self.renew()
                link = await self._connect()
            if self.closed:
                await link.close()
                raise NoAnswer(Status.CANCELLED, "the probe is closed")
            self._link = link
            return link

    async def _connect(self) -> Link:
        try:
            return await Link.to(self._address, self._guard, self._most)
        except Unreached as error:
            raise NoAnswer(Status.UNAVAILABLE, error.port.detail) from None
        except (OSError, asyncio.IncompleteReadError):
            raise NoAnswer(Status.UNAVAILABLE, "the connection was closed") from None


def _cut_off(error: Excess) -> NoAnswer:
    return NoAnswer(Status.RESOURCE_EXHAUSTED, str(error), excess=True)
