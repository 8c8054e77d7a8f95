"""The only queries that the probe can send to a TCPStore: those that read, and none that waits or writes.

A store has no authentication, and a store before libuv serves one query at a time: half a query holds up every worker
until its connection closes. So a query is encoded whole, and there is no code here for SET, ADD, WAIT, DELETE_KEY or
the queues.

Two dialects are in use (pytorch torch/csrc/distributed/c10d/TCPStore*.cpp, measured with 1.13, 2.0 to 2.3 and 2.15, in
both backends): up to 2.1 a query begins with its type; from 2.2 on the first query of a connection is VALIDATE with a
magic number, and the types are one higher. ``OPENING`` tells them apart and is harmless to both. A newer store answers
its four GETNUMKEYS. An older one reads it as SET with a key of 5 * 10^17 bytes, for which no memory is ever had, and
closes the connection, as it does after every query that fails.

A store looks up the name of the peer of each new connection, and serves no worker meanwhile (PyTorch 2.15: five seconds
where DNS does not answer). So a probe keeps one connection.
"""

import struct
from collections.abc import Sequence
from enum import StrEnum

_MAGIC = struct.pack("<I", 0x3C85F7CE)
_VALIDATE, _GETNUMKEYS = b"\x00", b"\x07"
OPENING = _VALIDATE + _MAGIC + _GETNUMKEYS * 4
COUNTS = struct.Struct("<4q")
"""What a newer store answers to it: its number of keys, four times."""
NUMBER = struct.Struct("<q")
"""A number, or the length of a text."""
READY = 0
"""Answer to a check of keys that are all there; 1 where one is not."""


class Dialect(StrEnum):
    """How a store wants its queries, under its name in ``RollAnswer.protocol``."""

    PLAIN = "tcpstore-v1"
    """Up to PyTorch 2.1."""
    VALIDATED = "tcpstore-v2"
    """From PyTorch 2.2 on."""

    def check(self, keys: Sequence[str]) -> bytes:
        """CHECK of each key by itself: a byte of answer each, ``READY`` or 1."""
        head = (b"\x04" if self is Dialect.PLAIN else b"\x05") + struct.pack("<Q", 1)
        return b"".join(head + _text(key) for key in keys)

    def size(self) -> bytes:
        """GETNUMKEYS: a ``NUMBER`` of answer."""
        return b"\x06" if self is Dialect.PLAIN else b"\x07"

    def get(self, key: str) -> bytes:
        """GET of a key that is there; for another one the store closes the connection."""
        return (b"\x02" if self is Dialect.PLAIN else b"\x03") + _text(key)


def _text(key: str) -> bytes:
    data = key.encode()
    return struct.pack("<Q", len(data)) + data
