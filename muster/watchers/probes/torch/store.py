"""One connection to a TCPStore: it finds the dialect, and then checks and gets keys."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from muster.api.values.printable import printable
from muster.state.view.roll import CoordinatorState
from muster.watchers.probes.jax.port_check import Address, PortState
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

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, dialect: Dialect) -> None:
        self._reader, self._writer = reader, writer
        self.dialect = dialect

    def close(self) -> None:
        """Close the connection."""
        self._writer.transport.abort()

    async def has(self, keys: Sequence[str]) -> list[bool]:
        """Which of the keys are there."""
        found: list[bool] = []
        for first in range(0, len(keys), BATCH):
            batch = keys[first : first + BATCH]
            self._writer.write(self.dialect.check(batch))
            found += [answer == READY for answer in await self._reader.readexactly(len(batch))]
        return found

    async def size(self) -> int:
        """How many keys it has."""
        self._writer.write(self.dialect.size())
        return int(NUMBER.unpack(await self._reader.readexactly(NUMBER.size))[0])

    async def number(self, key: str) -> int | None:
        """The number under the key; None where the key is missing."""
        if not (await self.has([key]))[0]:
            return None
        self._writer.write(self.dialect.get(key))
        (size,) = NUMBER.unpack(await self._reader.readexactly(NUMBER.size))
        if not 0 < size <= MAX_VALUE:
            raise NoStore(_other(f"a value of {size} bytes where a number was expected"))
        text = await self._reader.readexactly(size)
        if not text.isdigit():
            raise NoStore(_other(f"{printable(text, 80)!r} where a number was expected"))
        return int(text)


async def open_store(address: Address) -> Store:
    """Connect to the store behind that address and find its dialect. Raises NoStore."""
    reader, writer = await _connect(address)
    try:
        with translated():
            if await _greets(reader, writer):
                return Store(reader, writer, Dialect.VALIDATED)
    except BaseException:
        writer.transport.abort()
        raise
    writer.transport.abort()
    return Store(*await _connect(address), Dialect.PLAIN)


async def _connect(address: Address) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    try:
        return await asyncio.open_connection(address.host, address.port)
    except ConnectionRefusedError:
        raise NoStore(PortState(CoordinatorState.REFUSED, "connection refused")) from None
    except OSError as error:
        said = f"no connection: {printable(str(error), 200)}"
        raise NoStore(PortState(CoordinatorState.TIMEOUT, said)) from None


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


async def _greets(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Whether a store that validates answers; False where the connection is closed without a word."""
    writer.write(OPENING)
    try:
        counts = COUNTS.unpack(await reader.readexactly(COUNTS.size))
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
