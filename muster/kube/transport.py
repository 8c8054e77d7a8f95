"""The protocol through which every part of Muster reaches an API server.

``muster.kube.connection`` implements it over HTTP, the simulation in memory. It has two calls: a bounded request with
one answer, and a stream of lines. Both raise only ``muster.api.errors.ApiError``.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

TOO_LARGE_ANSWER = "TooLargeAnswer"
"""Reason of an ``Unreachable``: the answer was larger than the limit."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A successful answer: HTTP status below 300 and the body as it came."""

    status: int
    body: bytes
    date: str = ""
    """The server's time (HTTP header Date, RFC 9110 section 6.6.1), if it is sent."""


class Transport(Protocol):
    """The way of requests to an API server. Paths are absolute (``/api/v1/...``); parameters are not yet quoted."""

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
        """Send one request within ``timeout`` seconds (None: the transport's default; there is always one).

        Raises an ``ApiError`` unless it succeeded. A request that failed with ``Unreachable`` may have been
        carried out.
        """
        ...

    def lines(
        self, path: str, *, params: Mapping[str, str], silence: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Open a watch or a log: its lines in the order of arrival, without the newline.

        Ends when the server ends it; raises ``Unreachable`` when nothing came for ``silence`` seconds or the
        connection broke.
        """
        ...
