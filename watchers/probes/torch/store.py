"""One connection to a TCPStore: it finds the dialect, and then checks and gets keys."""

import asyncio
import struct
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from muster.api.values.printable import printable
from muster.state.roll import CoordinatorState
from muster.watchers.probes.jax.port_check import Address, PortState
from muster.watchers.probes.torch.queries import COUNTS, OPENING, READY, Dialect

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

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, dialect: Dialect, keys: int | None
    ) -> None:
        """``keys`` is the number of keys that it has; None where it was not asked."""
        self._reader, self._writer = reader, writer
        self.dialect = dialect
        self.keys = keys

    async def has(self, keys: Sequence[str]) -> list[bool]:
        """Which of the keys are there."""
        found: list[bool] = []
        for first in range(0, len(keys), BATCH):
            batch = keys[first : first + BATCH]
            self._writer.write(self.dialect.check(batch))
            found += [answer == READY for answer in await self._reader.readexactly(len(batch))]
        return found

    async def number(self, key: str) -> int | None:
        """The number under the key; None where the key is missing."""
        if not (await self.has([key]))[0]:
            return None
        self._writer.write(self.dialect.get(key))
        (size,) = struct.unpack("<Q", await self._reader.readexactly(8))
        if size > MAX_VALUE:
            raise NoStore(_other(f"a value of {size} bytes where a number was expected"))
        text = await self._reader.readexactly(size)
        if not text.isdigit():
            raise NoStore(_other(f"{printable(text, 80)!r} where a number was expected"))
        return int(text)


@asynccontextmanager
async def connected(address: Address, deadline: float, known: Dialect | None) -> AsyncGenerator[Store, None]:
    """A store behind that address, and within ``deadline`` seconds all that is asked of it. Raises NoStore.

    ``known`` is the dialect that answered last: a store of the plain one is not sent the opening again.
    """
    opened = False
    writer: asyncio.StreamWriter | None = None
    try:
        async with asyncio.timeout(deadline):
            reader, writer = await asyncio.open_connection(address.host, address.port)
            opened = True
            keys = None if known is Dialect.PLAIN else await _greet(reader, writer)
            if keys is None:
                if known is not Dialect.PLAIN:
                    writer.transport.abort()
                    reader, writer = await asyncio.open_connection(address.host, address.port)
                yield Store(reader, writer, Dialect.PLAIN, None)
            else:
                yield Store(reader, writer, Dialect.VALIDATED, keys)
    except TimeoutError:
        state = CoordinatorState.SILENT if opened else CoordinatorState.TIMEOUT
        what = "the port accepts connections and does not answer" if opened else "no connection"
        raise NoStore(PortState(state, f"{what} within {deadline:g} s")) from None
    except asyncio.IncompleteReadError as error:
        said = f"something else answers: {printable(error.partial, 80)!r}" if error.partial else "closes connections"
        raise NoStore(_other(said)) from None
    except ConnectionRefusedError:
        raise NoStore(PortState(CoordinatorState.REFUSED, "connection refused")) from None
    except OSError as error:
        if opened:
            raise NoStore(_other("closes connections")) from None
        raise NoStore(PortState(CoordinatorState.TIMEOUT, f"no connection: {printable(str(error), 200)}")) from None
    finally:
        if writer is not None:
            writer.transport.abort()


async def _greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int | None:
    """The number of keys of a store that validates; None where the connection was closed without a word."""
    writer.write(OPENING)
    try:
        counts = COUNTS.unpack(await reader.readexactly(COUNTS.size))
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    except ConnectionError:
        return None
    if not 0 <= min(counts) <= max(counts) < MAX_KEYS:
        raise NoStore(_other(f"something else answers: {printable(COUNTS.pack(*counts), 80)!r}"))
    return int(counts[-1])


def _other(said: str) -> PortState:
    return PortState(CoordinatorState.OTHER_PROTOCOL, said)
