"""The only connection from the daemon to a tenant's pod: TCP, and its peer cannot cost more than it was granted.

A peer may send without end, or send millions of parts of a few bytes each (interim answers, header lines, chunks,
HTTP/2 frames): memory goes with the bytes and CPU time with the parts. So both are granted for each answer, and a peer
that exceeds its grant is cut off. Reading has flow control: what is not read stays in the buffers of the two kernels.
"""

import asyncio
import errno
import ipaddress
import os
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextvars import ContextVar
from dataclasses import dataclass
from types import coroutine
from typing import Any, Final, TypeVar

import msgspec

from muster.api.values.printable import printable
from muster.state.view.roll import CoordinatorState
from muster.state.view.turns import Turns

T = TypeVar("T")

SHARE = 0.02
"""The share of a core for one coordinator."""
LONGEST = 4.0
"""Most seconds that a coordinator waits for its share, beside its usual pause. The end of one is known within ten, and
no granted answer takes more than 0.1 s: what took longer was a pause of the interpreter."""

_meter: ContextVar["Meter | None"] = ContextVar("meter", default=None)


def loop_time() -> float:
    """Return the monotonic seconds of the event loop."""
    return asyncio.get_running_loop().time()


class Meter:
    """The meter of the time that one coordinator has cost, so that it is asked less often the more its answers cost.

    A grant bounds the size of an answer, and a large gang's answer is large: 16,384 ranks take 39 ms of CPU to decode.
    The share of the daemon's time counts, whatever a byte of an answer costs. The steps of a coroutine are measured, in
    the task that asks and in the tasks that it starts; what other tasks do between two steps is not. ``cpu`` is a clock
    of this thread's CPU seconds.
    """

    def __init__(self, cpu: Callable[[], float]) -> None:
        self.cpu = cpu
        self._due = 0.0

    def start(self) -> None:
        """Measure the ``metered`` work of this task, and of the tasks that it starts from now on."""
        _meter.set(self)

    def add(self, seconds: float) -> None:
        """Add that many CPU seconds."""
        self._due = max(self._due, loop_time()) + seconds / SHARE

    def owed(self) -> float:
        """Return the seconds until the coordinator is within its share again."""
        return min(LONGEST, max(0.0, self._due - loop_time()))


@coroutine
def metered(work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
    """Return the result of ``work``, whose steps the meter of this task measures."""
    meter = _meter.get()
    if meter is None:
        result: T = yield from work
        return result
    step: Callable[[Any], Any] = work.send
    given: Any = None
    while True:
        began = meter.cpu()
        try:
            wanted = step(given)
        except StopIteration as end:
            result = end.value
            return result
        finally:
            meter.add(meter.cpu() - began)
        try:
            given, step = (yield wanted), work.send
        except BaseException as error:  # noqa: BLE001  # whatever is thrown in goes to the work
            given, step = error, work.throw


MOST_PARTS: Final = 80_000
"""Most parts of a document whose parts are all kept. An answer of NCCL's RAS for 3,500 ranks has 63,000."""


def parts_of(document: bytes | bytearray) -> int:
    """Return an upper bound of the number of parts in a JSON document, before it is decoded.

    A decoder makes an object of each part, in one piece, and a megabyte of ``[],[],`` has 350,000 of them: 60 ms of
    CPU. Commas and brackets are counted as bytes, which takes 1 ms a megabyte. Those inside of texts count, too.
    """
    return document.count(b",") + document.count(b"{") + document.count(b"[")


def read_json(decoder: "msgspec.json.Decoder[T]", value: bytes | bytearray, most: int) -> T | None:
    """Return the JSON that a program has written; None if it has more than ``most`` bytes, or another form."""
    if len(value) > most:
        return None
    try:
        return decoder.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


async def in_turns(work: Turns[T]) -> T:
    """Return the result of long work (``state.view.turns``); other due tasks run between two of its turns."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: T = end.value
            return result
        await asyncio.sleep(0)


BUFFER = 16 * 1024
"""The longest line in bytes. The event loop stops reading after twice as many."""
TURN = 64
"""Parts that are read before the rest of the event loop may run."""
LONGEST_PAUSE = 30.0
_REFUSALS = frozenset({errno.ECONNREFUSED, errno.ECONNRESET})


@dataclass(frozen=True, slots=True)
class Address:
    """An IP address and a port."""

    host: str
    port: int

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
        return cls(str(ip), int(port))

    def __str__(self) -> str:
        """Return the address as in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def direct(address: Address) -> Streams:
    """Connect to the pod's own address. Raises OSError."""
    return await asyncio.open_connection(address.host, address.port, limit=BUFFER)


DIAL: ContextVar[Callable[[Address], Awaitable[Streams]]] = ContextVar("dial", default=direct)
"""The function by which the probes of this task, and of the tasks that it starts, reach a pod. It raises OSError; a
connection needs reads of at most ``BUFFER`` bytes a line."""


@dataclass(frozen=True, slots=True)
class PortState:
    """The state of the port. SERVING means only that the peer speaks the expected protocol."""

    state: CoordinatorState
    detail: str


class Unreached(Exception):
    """A failed connection, or another peer than was expected; ``port`` has the reason."""

    def __init__(self, port: PortState) -> None:
        super().__init__(port.detail)
        self.port = port


class Excess(Exception):
    """A peer that exceeds its grant; the text names the excess, for people."""


class Guard:
    """The pause of a peer after each excess: 1, 2, 4 ... 30 seconds, so its share of the daemon's time is bounded, too.

    Meanwhile each question to it ends at once, with the excess as its error.
    """

    def __init__(self) -> None:
        self._until = self._pause = 0.0
        self._why = ""

    def check(self) -> None:
        """Raise ``Excess`` during the pause."""
        if loop_time() < self._until:
            raise Excess(self._why)

    def excess(self, did: str) -> Excess:
        """Begin a pause because of the excess ``did``, and return the exception for it.

        The pause doubles, unless the peer has behaved for twice the longest pause.
        """
        now = loop_time()
        if now >= self._until:  # of several open connections only one counts
            lasting = self._pause and now - self._until < 2 * LONGEST_PAUSE
            self._pause = min(LONGEST_PAUSE, 2 * self._pause) if lasting else 1.0
            self._until = now + self._pause
            self._why = f"{did}, and is left alone for {self._pause:g} s"
        return Excess(self._why)


class ProbeConnection:
    """A TCP connection to a pod. Each read raises ``Excess`` once its peer has used up its grant.

    Reads raise OSError and ``asyncio.IncompleteReadError`` if the connection ends, as asyncio's streams do.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, guard: Guard) -> None:
        self._reader, self._writer, self._guard = reader, writer, guard
        self._bytes = self._parts = self._turn = 0
        self._named = ("", "")

    @classmethod
    async def open(cls, address: Address, guard: Guard) -> "ProbeConnection":
        """Connect. Raises ``Unreached``, and ``Excess`` during a pause of the peer."""
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
        """Let the peer send at most that many bytes and parts from now on; ``called`` is the word for the parts."""
        self._bytes, self._parts = most, parts
        self._named = f"it sent more than {most:,} bytes", f"it sent more than {parts:,} {called}"

    async def exactly(self, count: int, *, parts: int = 1) -> bytes:
        """Read exactly ``count`` bytes, which count as one part or as ``parts``."""
        await self._part(count, parts)
        return await self._reader.readexactly(count)

    async def line(self) -> bytes:
        """Read the bytes up to and with the next line feed, which are one part. Empty at the end."""
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
        """Read the bytes that have arrived, at least one; they are one part. Empty at the end."""
        await self._part(0)
        data = await self._reader.read(BUFFER)
        self._take(len(data))
        return data

    def write(self, data: bytes) -> None:
        """Send the data."""
        self._writer.write(data)

    async def drain(self) -> None:
        """Wait until the peer has received nearly everything that was sent: unsent data costs memory."""
        await self._writer.drain()

    def excess(self, did: str) -> Excess:
        """Cut the peer off for the excess ``did``, and return the exception for it."""
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
        if self._turn % TURN == 0:  # reading available bytes gives no turn to others
            await asyncio.sleep(0)

    def _take(self, count: int) -> None:
        self._bytes -= count
        if self._bytes < 0:
            raise self.excess(self._named[0])
