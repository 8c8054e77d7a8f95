"""The messages of a unary gRPC call: the request's headers, and the call's end (grpc/grpc doc/PROTOCOL-HTTP2.md)."""

import base64
import binascii
from collections.abc import Mapping
from enum import IntEnum
from urllib.parse import unquote_to_bytes

PREFIX = 5
"""Bytes before a message: whether it is compressed, and its length."""


class Status(IntEnum):
    """The status of a call (grpc/grpc doc/statuscodes.md)."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


_OF_HTTP = {
    400: Status.INTERNAL,
    401: Status.UNAUTHENTICATED,
    403: Status.PERMISSION_DENIED,
    404: Status.UNIMPLEMENTED,
    **dict.fromkeys((429, 502, 503, 504), Status.UNAVAILABLE),
}
"""The meaning of an answer without a gRPC status, by its HTTP status (doc/http-grpc-status-mapping.md)."""


_OF_HEADER = {b"%d" % status: status for status in Status}


class NoAnswer(Exception):
    """The call ended without an answer: the status, its text, and the trailing ``grpc-status-details-bin``."""

    def __init__(self, code: Status, text: str, status_details: bytes = b"", *, excess: bool = False) -> None:
        super().__init__(f"{code.name}: {text}")
        self.code = code
        self.text = text
        self.status_details = status_details
        self.excess = excess
        """True if the peer was cut off for an excess, which the text names."""


def request_headers(method: str, authority: str, deadline: float | None) -> list[tuple[bytes, bytes]]:
    """Return the headers of a call that is to end within that many seconds, and that accepts no compressed answer.

    A small answer could be the compressed form of a large one.
    """
    headers = [
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", method.encode()),
        (b":authority", authority.encode()),
        (b"te", b"trailers"),
        (b"content-type", b"application/grpc"),
        (b"user-agent", b"grpc-muster"),
        (b"grpc-accept-encoding", b"identity"),
    ]
    if deadline is not None:
        headers.append((b"grpc-timeout", b"%dm" % max(1, round(deadline * 1000))))
    return headers


def framed(message: bytes) -> bytes:
    """Return a message as the body of a call."""
    return b"\0" + len(message).to_bytes(4, "big") + message


def message_of(headers: Mapping[bytes, bytes], body: bytes | bytearray) -> bytes:
    """Return the message of a whole answer, by its headers, trailers and body. Raises `NoAnswer` if it has none."""
    header = headers.get(b"grpc-status", b"")
    if not header:
        http = headers.get(b":status", b"")
        status = _OF_HTTP.get(int(http) if len(http) == 3 and http.isdigit() else 0, Status.UNKNOWN)
        raise NoAnswer(status, f"an answer without a status of gRPC: HTTP {http.decode(errors='replace')}")
    status = _OF_HEADER.get(header, Status.UNKNOWN)
    if status is not Status.OK:
        text = unquote_to_bytes(headers.get(b"grpc-message", b"")).decode(errors="replace")
        raise NoAnswer(status, text, _binary(headers.get(b"grpc-status-details-bin", b"")))
    if body[:1] == b"\1":
        raise NoAnswer(Status.INTERNAL, "the answer cannot be read: it is compressed")
    if len(body) < PREFIX or int.from_bytes(body[1:PREFIX], "big") != len(body) - PREFIX:
        raise NoAnswer(Status.INTERNAL, "the answer cannot be read: it is not one message")
    return bytes(body[PREFIX:])


def _binary(value: bytes) -> bytes:
    """Return the value of a header whose name ends in ``-bin``; empty if it is none."""
    try:
        return base64.b64decode(value + b"=" * (-len(value) % 4))
    except binascii.Error:
        return b""
