"""One connection to a TCPStore: it finds the dialect, and then checks and gets keys. No query waits or writes.

A store has no authentication, and a store before libuv serves one query at a time: half a query blocks every worker
until its connection closes. So a query is encoded whole, and there is no code here for SET, ADD, WAIT, DELETE_KEY or
the queues.

Two dialects are in use (pytorch torch/csrc/distributed/c10d/TCPStore*.cpp, measured with 1.13, 2.0 to 2.3 and 2.15, in
both backends): up to 2.1 a query begins with its type; from 2.2 on the first query of a connection is VALIDATE with a
magic number, and the types are one higher. ``OPENING`` distinguishes them and is harmless to both. A newer store
answers its four GETNUMKEYS. An older one reads it as SET with a key of 5 * 10^17 bytes, for which there is never enough
memory, and closes the connection, as after every query that fails.

A store looks up the name of the peer of each new connection, and serves no worker meanwhile (PyTorch 2.15: five seconds
if DNS does not answer). So a probe keeps one connection.
"""

import asyncio
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum

from muster.api.values.printable import printable
from muster.state.view.roll import CoordinatorState
from muster.watchers.probes.bounded.connection import Address, Guard, PortState, ProbeConnection, Unreached

_MAGIC = struct.pack("<I", 0x3C85F7CE)
_VALIDATE, _GETNUMKEYS = b"\x00", b"\x07"
OPENING = _VALIDATE + _MAGIC + _GETNUMKEYS * 4
COUNTS = struct.Struct("<4q")
"""A newer store's answer to the opening: its number of keys, four times."""
NUMBER = struct.Struct("<q")
"""A number, or the length of a text."""
READY = 0
"""The answer to a check of keys that all exist; 1 if one does not."""


class Dialect(StrEnum):
    """The form of a store's queries, under its name in ``RollAnswer.protocol``."""

    PLAIN = "tcpstore-v1"
    """Up to PyTorch 2.1."""
    VALIDATED = "tcpstore-v2"
    """From PyTorch 2.2 on."""

    def check(self, keys: Sequence[str]) -> bytes:
        """Return a CHECK of each key by itself: a byte of answer each, ``READY`` or 1."""
        head = (b"\x04" if self is Dialect.PLAIN else b"\x05") + struct.pack("<Q", 1)
        return b"".join(head + _text(key) for key in keys)

    def size(self) -> bytes:
        """Return a GETNUMKEYS: a ``NUMBER`` of answer."""
        return b"\x06" if self is Dialect.PLAIN else b"\x07"

    def get(self, key: str) -> bytes:
        """Return a GET of an existing key; for another one the store closes the connection."""
        return (b"\x02" if self is Dialect.PLAIN else b"\x03") + _text(key)


def _text(key: str) -> bytes:
    data = key.encode()
    return struct.pack("<Q", len(data)) + data


MAX_VALUE = 20
"""Bytes of the longest value that is read: a number of processes."""
MAX_KEYS = 1 << 32
"""The number of keys from which the other end is no store: something else has answered."""
BATCH = 32
"""Keys in one write: 2 KB, so that a query is hardly ever split on its way."""


class Store:
    """An open connection to a store that has answered once."""

    def __init__(self, connection: ProbeConnection, dialect: Dialect) -> None:
        self._connection = connection
        self.dialect = dialect

    def close(self) -> None:
        """Close the connection."""
        self._connection.abort()

    async def has(self, keys: Sequence[str]) -> list[bool]:
        """Return whether each of the keys exists."""
        found: list[bool] = []
        self._connection.grant(len(keys), 1 + len(keys) // BATCH, "answers")
        for first in range(0, len(keys), BATCH):
            batch = keys[first : first + BATCH]
            self._connection.write(self.dialect.check(batch))
            found += [answer == READY for answer in await self._connection.exactly(len(batch))]
        return found

    async def size(self) -> int:
        """Return the number of its keys."""
        return await self._number(self.dialect.size())

    async def number(self, key: str) -> int | None:
        """Return the number under the key; None if the key is missing."""
        if not (await self.has([key]))[0]:
            return None
        size = await self._number(self.dialect.get(key))
        if not 0 < size <= MAX_VALUE:
            raise Unreached(_other(f"a value of {size} bytes where a number was expected"))
        text = await self._connection.exactly(size)
        if not text.isdigit():
            raise Unreached(_other(f"{printable(text, 80)!r} where a number was expected"))
        return int(text)

    async def values(self, keys: Sequence[str], most: int) -> list[bytes]:
        """Return the values of existing keys. Raises ``Unreached`` if one has more bytes than ``most``."""
        found: list[bytes] = []
        self._connection.grant(len(keys) * (NUMBER.size + most), 2 * len(keys), "answers")
        for first in range(0, len(keys), BATCH):
            batch = keys[first : first + BATCH]
            self._connection.write(b"".join(map(self.dialect.get, batch)))
            for _ in batch:
                (size,) = NUMBER.unpack(await self._connection.exactly(NUMBER.size))
                if not 0 <= size <= most:
                    raise Unreached(_other(f"a value of {size} bytes where a report was expected"))
                found.append(await self._connection.exactly(size) if size else b"")
        return found

    async def _number(self, query: bytes) -> int:
        self._connection.grant(NUMBER.size + MAX_VALUE, 2, "answers")
        self._connection.write(query)
        return int(NUMBER.unpack(await self._connection.exactly(NUMBER.size))[0])


async def open_store(address: Address, accepted: Callable[[], None]) -> Store:
    """Connect to the store behind that address and find its dialect. Raises ``Unreached``.

    ``accepted`` is called once the port has accepted the connection: a stopped process accepts, and sends nothing.
    """
    connection = await ProbeConnection.open(address, Guard())
    accepted()
    try:
        with translated():
            if await _greets(connection):
                return Store(connection, Dialect.VALIDATED)
    except BaseException:
        connection.abort()
        raise
    connection.abort()
    return Store(await ProbeConnection.open(address, Guard()), Dialect.PLAIN)


@contextmanager
def translated() -> Iterator[None]:
    """Raise the end of a connection as ``Unreached``."""
    try:
        yield
    except asyncio.IncompleteReadError as error:
        detail = f"something else answers: {printable(error.partial, 80)!r}" if error.partial else "closes connections"
        raise Unreached(_other(detail)) from None
    except OSError:
        raise Unreached(_other("closes connections")) from None


async def _greets(connection: ProbeConnection) -> bool:
    """Return True if a store that validates answers; False if the connection is closed without an answer."""
    connection.grant(COUNTS.size, 1, "answers")
    connection.write(OPENING)
    try:
        counts = COUNTS.unpack(await connection.exactly(COUNTS.size))
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return False
    except ConnectionError:
        return False
    if not 0 <= min(counts) <= max(counts) < MAX_KEYS:
        raise Unreached(_other(f"something else answers: {printable(COUNTS.pack(*counts), 80)!r}"))
    return True


def _other(detail: str) -> PortState:
    return PortState(CoordinatorState.OTHER_PROTOCOL, detail)
