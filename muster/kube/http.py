"""HTTP for API servers: addresses, bodies, lines, sockets, and the errors of a failed connection.

Every fault of a peer (it refuses, resets, stalls, cuts a line, speaks no HTTP) raises ``Unreachable``: the caller then
knows only that there was no answer.
"""

import socket
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError, LineTooLong
from yarl import URL

from muster.api.errors import ApiError, Invalid, Unreachable
from muster.api.values.printable import MESSAGE, clean
from muster.kube.transport import TOO_LARGE_ANSWER

LONGEST_LINE = 16 * 2**20
"""Most bytes of a line: etcd takes objects of 1.5 MB by default, 8 MB at most."""

LOG = "text/plain"
"""Content type of a pod's log; a watch has ``application/json``."""

LARGEST_ANSWER = 64 * 2**20
"""Most bytes of an answer: far above a usual page of a list (500 pods are 5 MB), far below a harmful size. A page of
objects that are all as large as etcd takes them is larger; it is then read in smaller pages (``sink_feed``)."""

FAILURES = (aiohttp.ClientError, HttpProcessingError, OSError, ValueError, EOFError)
"""Errors of aiohttp for a connection that fails or breaks, or a peer that speaks no HTTP (TimeoutError is an OSError).
"""


async def read_lines(response: aiohttp.ClientResponse, name: str, silence: float) -> AsyncGenerator[bytes, None]:
    """Yield the lines of a watch or of a log, without their newline. Raises ``Unreachable``.

    A watch's last line without a newline is a broken connection, whatever the HTTP framing is: half an object may well
    be valid JSON. A log (``text/plain``) has empty lines, and its last one needs no newline.
    """
    readline = response.content.readline
    log = response.content_type == LOG
    try:
        while line := await readline(max_line_length=LONGEST_LINE):
            if line[-1] != 10:
                if not log:
                    raise Unreachable(
                        f"the stream ended in the middle of a line of {len(line)} bytes",
                        reason="Truncated",
                        request=name,
                    )
                yield line
            elif log or len(line) > 1:
                yield line[:-1]
    except FAILURES as error:
        raise unreachable(error, name, silence=silence) from error


class TooLarge(ValueError):
    """An answer is larger than the limit."""


async def read_body(response: aiohttp.ClientResponse, most: int, *, cut: bool = False) -> bytes:
    """Return the whole body, or its first ``most`` bytes if ``cut``. Raises ``TooLarge`` for a larger one."""
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > most:
            if cut:
                break
            raise TooLarge(f"an answer of more than {most} bytes")
    return b"".join(parts)[:most]


def address(host: str, path: str, params: Mapping[str, str]) -> URL:
    """Return the request's address. A path is never more than a path: ``?`` and ``#`` are quoted, ``..`` is refused."""
    if not path.startswith("/") or any(part in ("..", ".") for part in path.split("/")):
        raise Invalid(f"{clean(path)!r} is not a path on an API server", status=400, reason="BadRequest")
    base = URL(host)
    url = base.with_path(base.path.rstrip("/") + path)
    return url.with_query(params) if params else url


def unreachable(error: Exception, name: str, *, silence: float | None = None, place: str = "") -> ApiError:
    """Return the error for a failure of the transport. ``place`` is the server that did not answer."""
    if isinstance(error, aiohttp.SocketTimeoutError):
        return Unreachable(f"nothing came for {silence or 0:g} s", reason="Silent", request=name)
    reason = "Broken"
    if isinstance(error, LineTooLong):
        reason = "TooLong"
    elif isinstance(error, TooLarge):
        reason = TOO_LARGE_ANSWER
    elif isinstance(error, TimeoutError):
        reason = "Timeout"
    elif isinstance(error, aiohttp.ClientConnectorError):
        reason = "Connect"
    message = clean(str(error), MESSAGE) or type(error).__name__
    if place and reason in ("Connect", "Timeout"):
        message = f"{place}: {message}; is the cluster running?"
    return Unreachable(message, reason=reason, request=name)


def make_socket(address: Any) -> socket.socket:
    """Return a socket that notices a dead peer by itself within a minute, even below a paused reader."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family=family, type=kind, proto=protocol)
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for option, value in (
        ("TCP_KEEPIDLE", 30),
        ("TCP_KEEPINTVL", 10),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", 60_000),
    ):
        if hasattr(socket, option):  # Linux; elsewhere the limits above still hold
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made
