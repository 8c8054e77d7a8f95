"""One connection to a TCPStore: it finds the dialect, and then checks and gets keys."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from muster.api.values.printable import printable
from muster.state.view.roll import CoordinatorState
from muster.watchers.probes.bounded.connection import Address, Connection, Guard, PortState, Unreached
from muster.watchers.probes.torch.queries import COUNTS, NUMBER, OPENING, READY, Dialect

MAX_VALUE = 20
"""Bytes of the longest value that is read: a number of processes."""
MAX_KEYS = 1 << 32
"""A store with more is none: something else has answered."""
BATCH = 32
"""Keys a write: 2 KB, so that a query is hardly ever cut in two on its way."""


class NoStore(Exception):
    """No TCPStore has answered; ``port`` says what is there instead."""

    def __init__(self, port: PortState) -> None:
        super().__init__(port.detail)
        self.port = port


class Store:
    """An open connection to a store that has answered once."""

    def __init__(self, connection: Connection, dialect: Dialect) -> None:
        self._connection = connection
        self.dialect = dialect

    def close(self) -> None:
        """Close the connection."""
        self._connection.abort()

    async def has(self, keys: Sequence[str]) -> list[bool]:
        """Which of the keys are there."""
        found: list[bool] = []
        self._connection.grant(len(keys), 1 + len(keys) // BATCH, "answers")
        for first in range(0, len(keys), BATCH):
            batch = keys[first : first + BATCH]
            self._connection.write(self.dialect.check(batch))
            found += [answer == READY for answer in await self._connection.exactly(len(batch))]
        return found

    async def size(self) -> int:
        """How many keys it has."""
        return await self._number(self.dialect.size())

    async def number(self, key: str) -> int | None:
        """The number under the key; None where the key is missing."""
        if not (await self.has([key]))[0]:
            return None
        size = await self._number(self.dialect.get(key))
        if not 0 < size <= MAX_VALUE:
            raise NoStore(_other(f"a value of {size} bytes where a number was expected"))
        text = await self._connection.exactly(size)
        if not text.isdigit():
            raise NoStore(_other(f"{printable(text, 80)!r} where a number was expected"))
        return int(text)

    async def _number(self, query: bytes) -> int:
        self._connection.grant(NUMBER.size + MAX_VALUE, 2, "answers")
        self._connection.write(query)
        return int(NUMBER.unpack(await self._connection.exactly(NUMBER.size))[0])


async def open_store(address: Address) -> Store:
    """Connect to the store behind that address and find its dialect. Raises NoStore."""
    connection = await _connect(address)
    try:
        with translated():
            if await _greets(connection):
                return Store(connection, Dialect.VALIDATED)
    except BaseException:
        connection.abort()
        raise
    connection.abort()
    return Store(await _connect(address), Dialect.PLAIN)


async def _connect(address: Address) -> Connection:
    try:
        return await Connection.open(address, Guard())
    except Unreached as error:
        raise NoStore(error.port) from None


@contextmanager
def translated() -> Iterator[None]:
    """The end of a connection, as NoStore."""
    try:
        yield
    except asyncio.IncompleteReadError as error:
        said = f"something else answers: {printable(error.partial, 80)!r}" if error.partial else "closes connections"
        raise NoStore(_other(said)) from None
    except OSError:
        raise NoStore(_other("closes connections")) from None


async def _greets(connection: Connection) -> bool:
    """Whether a store that validates answers; False where the connection is closed without a word."""
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
        raise NoStore(_other(f"something else answers: {printable(COUNTS.pack(*counts), 80)!r}"))
    return True


def _other(said: str) -> PortState:
    return PortState(CoordinatorState.OTHER_PROTOCOL, said)
