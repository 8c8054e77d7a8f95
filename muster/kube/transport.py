"""The protocol through which every part of Muster reaches an API server, and the errors of refused requests.

``muster.kube.connection`` implements it over HTTP, the simulation in memory. It has two calls: a bounded request with
one answer, and a stream of lines. Both raise only ``muster.api.errors.ApiError``.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from muster.api.errors import ApiError, error_of
from muster.api.values.printable import WORD, clean

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

    def lines(
        self, path: str, *, params: Mapping[str, str], silence: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Open a watch or a log: its lines in the order of arrival, without the newline.

        Ends when the server ends it; raises ``Unreachable`` when nothing came for ``silence`` seconds or the
        connection broke.
        """


class Around:
    """A transport whose every request is sent inside the context that ``context`` gives for its method and path.

    A watch or a log has no such context.
    """

    def __init__(self, transport: Transport, context: Callable[[str, str], AbstractAsyncContextManager[None]]) -> None:
        self._transport = transport
        self._context = context
        self.lines = transport.lines

    async def request(self, method: str, path: str, **options: Any) -> Answer:
        """Send a request (see ``Transport``). Raises what its context raises, too."""
        async with self._context(method, path):
            return await self._transport.request(method, path, **options)


LONGEST_STATUS = 65_536
"""Most bytes of an error body that are read."""

LONGEST_MESSAGE = 1024
MOST_CAUSES = 16
LONGEST_WAIT = 3600.0
"""Most seconds of a Retry-After: a longer one is cut to this."""

TOO_LARGE = "ResourceVersionTooLarge"
"""The cause of a refusal: the resourceVersion of the request is ahead of the server
(metav1.CauseTypeResourceVersionTooLarge)."""


class Cause(msgspec.Struct, gc=False):
    """The fields of metav1.StatusCause that are used."""

    reason: str | None = None
    message: str | None = None


class Details(msgspec.Struct, gc=False):
    """The fields of metav1.StatusDetails that are used."""

    retryAfterSeconds: int | None = None  # noqa: N815 - the wire's names, here and below
    causes: list[Cause] | None = None


class Status(msgspec.Struct, gc=False):
    """The fields of metav1.Status that are used. Nothing in it is trusted."""

    status: str | None = None
    message: str | None = None
    reason: str | None = None
    code: int | None = None
    details: Details | None = None


_STATUS = msgspec.json.Decoder(Status)


def read_status(body: bytes) -> Status:
    """Return the Status in ``body``; without one, the text of the body becomes its message."""
    with suppress(ValueError, RecursionError):
        found = _STATUS.decode(body)
        if found.message or found.reason:
            return found
    return Status(message=body[:LONGEST_MESSAGE].decode(errors="replace"))


def error_from_status(
    status: Status, *, http: int = 0, retry_after: float | None = None, request: str = ""
) -> ApiError:
    """Return the error of a Status; an HTTP status comes before its ``code``."""
    details = status.details or Details()
    if retry_after is None and details.retryAfterSeconds is not None and details.retryAfterSeconds > 0:
        retry_after = float(min(details.retryAfterSeconds, LONGEST_WAIT))
    reason = clean(status.reason, WORD)
    causes = tuple(clean(cause.reason, WORD) for cause in (details.causes or ())[:MOST_CAUSES])
    if TOO_LARGE in causes:
        reason = TOO_LARGE
    code = http or (status.code if status.code is not None and 100 <= status.code <= 599 else 500)
    message = clean(status.message, LONGEST_MESSAGE) or "the server gave no message"
    return error_of(code, reason, message, retry_after=retry_after, request=request, causes=causes)


def error_from_answer(http: int, headers: Mapping[str, str], body: bytes, request: str) -> ApiError:
    """Return the error of a refused request."""
    retry_after = seconds_to_wait(headers.get("Retry-After"))
    return error_from_status(read_status(body), http=http, retry_after=retry_after, request=request)


def seconds_to_wait(header: str | None) -> float | None:
    """Return Retry-After as seconds. Kubernetes sends whole seconds; anything else, dates included, is None."""
    if header and len(header) <= 9 and header.isascii() and header.isdigit():
        return min(float(header), LONGEST_WAIT)
    return None
