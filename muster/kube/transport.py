"""The one door between Muster's I/O rooms and an API server.

``muster.kube.connection`` opens it over HTTP, the simulation opens it in memory; nobody else talks to the server. Two
calls are enough: a bounded request with one answer, and a stream of lines. Both raise only
``muster.api.errors.ApiError``.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Answer:
    """A successful answer: HTTP status below 300 and the body as it came."""

    status: int
    body: bytes


class Transport(Protocol):
    """How requests reach an API server. Paths are absolute (``/api/v1/...``); parameters are not yet quoted."""

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
        """Do one request within ``timeout`` seconds (None: the transport's default; there is always one).

        Raises an ``ApiError`` for every other outcome. A request that failed with ``Unreachable`` may have been
        carried out.
        """
        ...

    def lines(
        self, path: str, *, params: Mapping[str, str], silence: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Open a watch: its lines as they come, without the newline.

        Ends when the server ends it; raises ``Unreachable`` when nothing came for ``silence`` seconds or the
        connection broke.
        """
        ...
