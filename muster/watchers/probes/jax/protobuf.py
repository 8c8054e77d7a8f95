"""The part of the protobuf wire format that the probe needs, written by hand.

Three wire types (varint, fixed64, length-delimited) are enough for the coordination service, so the daemon's image
needs neither protobuf nor generated code. The input is not trusted: every length is checked against the bytes that are
there, a varint has at most ten bytes, and anything else raises `Malformed`. Format: protobuf.dev, "Encoding".
"""

import struct
from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

_FIXED64 = struct.Struct("<Q")
_MAX_VARINT_BYTES = 10
_U64 = (1 << 64) - 1
_SIGN = 1 << 63


class Malformed(ValueError):
    """The bytes are not the expected message."""


def varint(value: int) -> bytes:
    """Return a signed or unsigned 64-bit integer as varint; negative numbers take ten bytes, as in protobuf."""
    value &= _U64
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer_field(number: int, value: int) -> bytes:
    """Field `number` of an integer type."""
    return varint(number << 3 | VARINT) + varint(value)


def fixed64_field(number: int, value: int) -> bytes:
    """Field `number` of type fixed64."""
    return varint(number << 3 | FIXED64) + _FIXED64.pack(value)


def bytes_field(number: int, value: bytes) -> bytes:
    """Field `number` of type string, bytes or message."""
    return varint(number << 3 | BYTES) + varint(len(value)) + value


def signed(value: int) -> int:
    """Return the int32 or int64 of an unsigned number on the wire."""
    return value - (1 << 64) if value & _SIGN else value


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the unsigned number at `at`, and the position behind it."""
    end = len(data)
    if at < end and data[at] < 0x80:  # nearly all numbers of a task list are small
        return data[at], at + 1
    value = shift = 0
    for position in range(at, min(end, at + _MAX_VARINT_BYTES)):
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > _U64:
                raise Malformed(f"varint at byte {at} exceeds 64 bits")
            return value, position + 1
        shift += 7
    raise Malformed(f"varint at byte {at} does not end")


def read_fixed64(data: bytes, at: int) -> tuple[int, int]:
    """Return the fixed64 at `at`, and the position behind it."""
    if at + 8 > len(data):
        raise Malformed(f"fixed64 at byte {at} is cut off")
    return _FIXED64.unpack_from(data, at)[0], at + 8


def read_bytes(data: bytes, at: int) -> tuple[bytes, int]:
    """Return the length-delimited value at `at`, and the position behind it."""
    length, at = read_varint(data, at)
    end = at + length
    if end > len(data):
        raise Malformed(f"value of {length} bytes at byte {at} is cut off")
    return data[at:end], end


def fields(data: bytes, most: int = 1 << 16) -> Iterator[tuple[int, int | bytes]]:
    """Yield each field of a message as (number, value), in order of the wire; skip fields of type fixed32.

    A message of more than `most` fields is `Malformed`: two million fit into an answer, and would take seconds.
    """
    at, end, count = 0, len(data), 0
    while at < end:
        count += 1
        if count > most:
            raise Malformed(f"the message has more than {most} fields")
        tag, at = read_varint(data, at)
        number, kind = tag >> 3, tag & 7
        value: int | bytes
        if kind == VARINT:
            value, at = read_varint(data, at)
        elif kind == BYTES:
            value, at = read_bytes(data, at)
        elif kind == FIXED64:
            value, at = read_fixed64(data, at)
        elif kind == FIXED32:
            at += 4
            if at > end:
                raise Malformed("fixed32 is cut off")
            continue
        else:
            raise Malformed(f"wire type {kind} of field {number} is not in use")
        yield number, value
