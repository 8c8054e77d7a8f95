"""The one way from the daemon to a tenant's pod: a TCP connection whose peer cannot cost more than it was granted.

A peer may send without end, or send millions of parts of a few bytes each (interim answers, header lines, chunks,
HTTP/2 frames): memory goes with the bytes and CPU time with the parts. So both are granted for each answer, and a peer
that exceeds its grant is cut off. Reading has flow control: what is not read stays in the buffers of the two kernels.

A peer that was cut off is left alone for 1, 2, 4 ... 30 seconds, so its share of the daemon's time is bounded, too.
Meanwhile each question to it ends at once, with what it did.
"""

import asyncio
import errno
import ipaddress
import os
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass

from muster.api.values.printable import printable
from muster.state.view.roll import CoordinatorState
from muster.watchers.probes.bounded.cost import loop_time

BUFFER = 16 * 1024
"""The longest line in bytes. The event loop stops reading after twice as many."""
TURN = 64
"""Parts that are read without a turn for the rest of the event loop."""
LONGEST_PAUSE = 30.0
_REFUSALS = frozenset({errno.ECONNREFUSED, errno.ECONNRESET})


@dataclass(frozen=True, slots=True)
class Address:
    """An IP address and a port."""

    host: str
    port: int
    v6: bool

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Parse "10.1.2.3:1234" or "[fd00::1]:1234". Raises ValueError for anything else, host names included.

        A pod is probed by the address in its status, without name resolution.
        """
        host, colon, port = text.rpartition(":")
        try:
            ip = ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
        except ValueError:
            ip = None
        bracketed = host.startswith("[") and host.endswith("]")
        if ip is None or not colon or bracketed != (ip.version == 6) or not (port.isascii() and port.isdigit()):
            raise ValueError(
                f'address {printable(text, 80)!r} is not "ip:port": use the pod IP, such as "10.1.2.3:1234"'
            )
        if not 0 < int(port[:6]) < 65536:
            raise ValueError(f"address {printable(text, 80)!r}: the port must be between 1 and 65535")
        return cls(str(ip), int(port), ip.version == 6)

    def __str__(self) -> str:
        """Return the address as in a URL."""
        return f"[{self.host}]:{self.port}" if self.v6 else f"{self.host}:{self.port}"


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def direct(address: Address) -> Streams:
    """Connect to the pod's own address. Raises OSError."""
    return await asyncio.open_connection(address.host, address.port, limit=BUFFER)


DIAL: ContextVar[Callable[[Address], Awaitable[Streams]]] = ContextVar("dial", default=direct)
"""How the probes of this task, and of those that it starts, reach a pod. It raises OSError; reads of at most ``BUFFER``
bytes a line are what a connection needs."""


@dataclass(frozen=True, slots=True)
class PortState:
    """What is behind the port. SERVING means only that the expected protocol is spoken."""

    state: CoordinatorState
    detail: str


class Unreached(Exception):
    """No connection; ``port`` says why."""

    def __init__(self, port: PortState) -> None:
        super().__init__(port.detail)
        self.port = port


class Excess(Exception):
    """The peer exceeds what it was granted; the text says how, for people."""


class Guard:
    """Keeps the daemon from a peer for some time after each excess."""

    def __init__(self) -> None:
        self._until = self._pause = 0.0
        self._why = ""

    def check(self) -> None:
        """Raise ``Excess`` while the peer is left alone."""
        if loop_time() < self._until:
            raise Excess(self._why)

    def excess(self, did: str) -> Excess:
        """Leave the peer alone for what it did, and return the exception that says so.

        The pause doubles, unless the peer has behaved for twice the longest pause.
        """
        now = loop_time()
        if now >= self._until:  # of connections that were open together one counts
            lasting = self._pause and now - self._until < 2 * LONGEST_PAUSE
            self._pause = min(LONGEST_PAUSE, 2 * self._pause) if lasting else 1.0
            self._until = now + self._pause
            self._why = f"{did}, and is left alone for {self._pause:g} s"
        return Excess(self._why)


class Connection:
    """A TCP connection to a pod. Each read raises ``Excess`` once its peer has used up its grant.

    Reads raise OSError and ``asyncio.IncompleteReadError`` where the connection ends, as asyncio's streams do.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, guard: Guard) -> None:
        self._reader, self._writer, self._guard = reader, writer, guard
        self._bytes = self._parts = self._turn = 0
        self._named = ("", "")

    @classmethod
    async def open(cls, address: Address, guard: Guard) -> "Connection":
        """Connect. Raises ``Unreached``, ``Excess`` while the peer is left alone."""
        guard.check()
        try:
            streams = await DIAL.get()(address)
        except OSError as error:
            if error.errno in _REFUSALS:
                raise Unreached(PortState(CoordinatorState.REFUSED, "connection refused")) from None
            what = f"no connection: {os.strerror(error.errno) if error.errno else printable(str(error), 200)}"
            raise Unreached(PortState(CoordinatorState.TIMEOUT, what)) from None
        return cls(*streams, guard)

    def grant(self, most: int, parts: int, called: str) -> None:
        """Let the peer send at most so many bytes and so many parts, which are called that, from now on."""
        self._bytes, self._parts = most, parts
        self._named = f"it sent more than {most:,} bytes", f"it sent more than {parts:,} {called}"

    async def exactly(self, count: int, *, parts: int = 1) -> bytes:
        """Return so many bytes; they are one part, or that many."""
        await self._part(count, parts)
        return await self._reader.readexactly(count)

    async def line(self) -> bytes:
        """Return the bytes up to the next line feed, with it; they are one part. Empty at the end."""
        await self._part(0)
        try:
            line = await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as error:
            line = error.partial
        except asyncio.LimitOverrunError:
            raise self.excess(f"it sent a line of more than {BUFFER:,} bytes") from None
        self._take(len(line))
        return line

    async def some(self) -> bytes:
        """Return what has arrived, at least a byte; it is one part. Empty at the end."""
        await self._part(0)
        data = await self._reader.read(BUFFER)
        self._take(len(data))
        return data

    def write(self, data: bytes) -> None:
        """Send."""
        self._writer.write(data)

    async def drain(self) -> None:
        """Wait until the peer has taken nearly everything that was sent: what waits for it costs memory."""
        await self._writer.drain()

    def excess(self, did: str) -> Excess:
        """Cut the peer off for what it did, and return the exception that says so."""
        self.abort()
        return self._guard.excess(did)

    def abort(self) -> None:
        """Close the connection at once."""
        self._writer.transport.abort()

    async def _part(self, count: int, parts: int = 1) -> None:
        self._parts -= parts
        if self._parts < 0:
            raise self.excess(self._named[1])
        self._take(count)
        self._turn += 1
        if self._turn % TURN == 0:  # a read of bytes that are there already gives no turn to others
            await asyncio.sleep(0)

    def _take(self, count: int) -> None:
        self._bytes -= count
        if self._bytes < 0:
            raise self.excess(self._named[0])
