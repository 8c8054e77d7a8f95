"""Asks NCCL's RAS now and then, beside the coordinator's probe: any process of the gang answers for all of them.

It is asked in the background: RAS itself waits for up to ten seconds for a process that has stopped, and the roll does
not wait for that. If one process does not answer, the next one is asked.

The only commands that can be sent are those of ``COMMANDS``: they read. RAS has no others but MONITOR, which never ends
(NVIDIA/nccl: src/ras/client_support.cc, rasClientEventLoop). Its port has no authentication. The answer is bounded in
bytes, parts and seconds. RAS ends the connection after it.

The answer is JSON (from 2.28.7 on: the same file, rasDumpCommsToJSON). It comes from a process of the experiment. One
without the form that NCCL writes is refused as a whole: after an impossible count the next one is not credible either
(NCCL 2.27.3 wrote ranks that do not exist). The text form is not read: it leaves ranks out, by its own rules.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_address
from typing import Annotated, Final

import msgspec

from muster.api.gang import MAX_MEMBERS
from muster.api.values.printable import printable
from muster.kube.cancellation import cancel_and_wait
from muster.state.view.recorder.ras import OPERATIONS, Communicator, RasAnswer, RasRank
from muster.state.view.turns import Turns, batches
from muster.watchers.probes.bounded.connection import (
    MOST_PARTS,
    Address,
    Excess,
    Guard,
    ProbeConnection,
    Unreached,
    in_turns,
    loop_time,
    metered,
    parts_of,
)

MAX_DEVICES: Final = 128
"""Most GPUs of one node: NCCL has at most 72 ranks on it (NCCL_MAX_LOCAL_RANKS)."""
MAX_RANKS: Final = 8 * MAX_MEMBERS
MAX_COMMUNICATORS: Final = 4096
MAX_TEXT: Final = 64
_LARGEST: Final = (1 << 53) - 1
_AT_WORK: Final = frozenset({0, 7})
"""ncclSuccess and ncclInProgress: a nonblocking communicator is in progress now and then."""

_Count = Annotated[int, msgspec.Meta(ge=0, le=_LARGEST)]
_Rank = Annotated[int, msgspec.Meta(ge=0, lt=MAX_RANKS)]
_Pid = Annotated[int, msgspec.Meta(ge=-1, le=_LARGEST)]
_Device = Annotated[int, msgspec.Meta(ge=-1, lt=MAX_DEVICES)]
_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TEXT)]


class Unreadable(ValueError):
    """The answer is not one of RAS; the text has the reason, for people."""


class State(msgspec.Struct):
    """The state of a rank in the life of its communicator."""

    init_state: int
    async_error: int
    finalize_called: bool
    destroy_flag: bool
    abort_flag: bool

    @property
    def at_work(self) -> bool:
        """True unless the communicator begins or ends."""
        ends = self.finalize_called or self.destroy_flag or self.abort_flag
        return self.init_state == 0 and self.async_error in _AT_WORK and not ends


class Rank(msgspec.Struct):
    """A rank that has answered."""

    rank: _Rank
    host: _Text
    pid: _Pid
    nvml_dev: _Device
    status: State
    collective_counts: dict[str, _Count]


class Comm(msgspec.Struct):
    """A communicator. Ranks that have not answered are missing in ``ranks``."""

    hash: _Text
    secondary_hash: _Text
    size: Annotated[int, msgspec.Meta(ge=1, le=MAX_RANKS)]
    ranks: list[Rank]


class RasDump(msgspec.Struct):
    """The whole answer."""

    communicators_count: _Count
    communicators: Annotated[list[Comm], msgspec.Meta(max_length=MAX_COMMUNICATORS)]


_decoder = msgspec.json.Decoder(RasDump)


def decoded_in_turns(data: bytes | bytearray) -> Turns[RasAnswer]:
    """Read the answer. Raises ``Unreadable``."""
    if parts_of(data) > MOST_PARTS:
        raise Unreadable(f"its answer has more than {MOST_PARTS:,} parts")
    try:
        dump = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(f"its answer cannot be read: {printable(str(error), 200)}") from None
    if dump.communicators_count != len(dump.communicators):
        raise Unreadable(f"it counts {dump.communicators_count} communicators and has {len(dump.communicators)}")
    if len({(each.hash, each.secondary_hash) for each in dump.communicators}) != len(dump.communicators):
        raise Unreadable("it has a communicator twice")
    hosts: dict[str, str] = {}
    ranks = [(each, rank) for each in dump.communicators for rank in each.ranks]
    read: dict[int, list[RasRank]] = {id(each): [] for each in dump.communicators}
    for batch in batches(ranks):
        yield
        for each, rank in batch:
            read[id(each)].append(_rank(rank, hosts))
    yield
    return RasAnswer(tuple(_communicator(each, read[id(each)]) for each in dump.communicators))


def _communicator(each: Comm, ranks: list[RasRank]) -> Communicator:
    ranks.sort(key=lambda rank: rank.rank)
    whole = len(ranks) == each.size and all(rank.rank == place for place, rank in enumerate(ranks))
    hash_ = printable(each.hash, MAX_TEXT)
    identity = f"{hash_} {printable(each.secondary_hash, MAX_TEXT)}"
    return Communicator(identity, hash_, tuple(ranks), whole and all(rank.status.at_work for rank in each.ranks))


def _rank(rank: Rank, hosts: dict[str, str]) -> RasRank:
    found = rank.collective_counts
    counts = (*(found.get(name, 0) for name in OPERATIONS), sum(found.values()))
    return RasRank(rank.rank, _host(rank.host, hosts), rank.pid, rank.nvml_dev, counts)


def _host(text: str, hosts: dict[str, str]) -> str:
    """Return the text in the one form of an IP address, or an empty text; a gang has few, with many ranks at each."""
    found = hosts.get(text)
    if found is None:
        try:
            found = str(ip_address(text))
        except ValueError:
            found = ""
        hosts[text] = found
    return found


PROTOCOL: Final = b"SERVER PROTOCOL 2"
"""NCCL's answer, from 2.24 to 2.30 at least."""
HELLO, LIMIT, FORMAT, STATUS = COMMANDS = (
    b"CLIENT PROTOCOL 2\n",
    b"TIMEOUT 5\n",
    b"SET FORMAT json\n",
    b"STATUS\n",
)
DEADLINE: Final = 15.0
"""Seconds for an answer: RAS waits five for its processes, and five more."""
MOST: Final = 2 << 20
"""Most bytes of an answer: some 3,500 ranks, each counted once for each of its communicators."""
PART: Final = 512
"""Least bytes of a part, on average."""
_LINE: Final = 1024


class NoRas(Exception):
    """A question without an answer; the text has the reason, for people."""


async def ask(address: Address, guard: Guard, deadline: float = DEADLINE) -> RasAnswer:
    """Ask once, for at most that many seconds. Raises ``NoRas`` and nothing else, whatever answers."""
    connection: ProbeConnection | None = None
    try:
        async with asyncio.timeout(deadline):
            connection = await ProbeConnection.open(address, guard)
            return await _answer(connection)
    except TimeoutError:
        raise NoRas(f"no answer within {deadline:g} s") from None
    except Unreached as error:
        raise NoRas(error.port.detail) from None
    except (Excess, Unreadable) as error:
        raise NoRas(str(error)) from None
    except (OSError, asyncio.IncompleteReadError):
        raise NoRas("the connection was closed") from None
    finally:
        if connection is not None:
            connection.abort()


async def _answer(connection: ProbeConnection) -> RasAnswer:
    if (reply := await _reply(connection, HELLO)) != PROTOCOL:
        raise NoRas(f"it answers {printable(reply, 80)!r}, not {PROTOCOL.decode()!r}")
    if (reply := await _reply(connection, LIMIT)) != b"OK":
        raise NoRas(f"it takes no time limit: {printable(reply, 80)!r}")
    if (reply := await _reply(connection, FORMAT)) != b"OK":
        raise NoRas(f"it does not answer in JSON, as no NCCL before 2.28.7 does: {printable(reply, 80)!r}")
    connection.grant(MOST, MOST // PART, "parts of an answer")
    connection.write(STATUS)
    data = bytearray()
    while part := await connection.some():
        data += part
    return await in_turns(decoded_in_turns(data))


async def _reply(connection: ProbeConnection, command: bytes) -> bytes:
    connection.grant(_LINE, 1, "lines")
    connection.write(command)
    return (await connection.line()).rstrip(b"\r\n")


PAUSE: Final = 6.0
"""Seconds between the beginnings of two questions."""
LONG_PAUSE: Final = 60.0
"""Seconds between the beginnings after ``FORGET`` seconds without an answer: there may be no RAS."""
REST: Final = 2.0
"""A slow answer delays the next question by this many times its own duration."""
FORGET: Final = 60.0
"""Seconds without an answer after which the last one no longer counts."""


class RasProbe:
    """The probe of one gang's RAS."""

    def __init__(self, ask: Callable[[Address, Guard], Awaitable[RasAnswer]] = ask) -> None:
        self.why = ""
        """The reason why the last question had no answer; empty if it had one, or none was asked."""
        self._ask = ask
        self._asking: asyncio.Task[RasAnswer] | None = None
        self._guards: dict[str, Guard] = {}
        self._next = 0
        self._began = self._due = 0.0
        self._heard: float | None = None

    def answer(self, addresses: Sequence[str]) -> RasAnswer | None:
        """Return the answer since the last call, if any; begin the next question when it is time.

        ``addresses`` are those of some processes, as "ip:port". The result has no communicator from ``FORGET`` seconds
        after the last answer, or after the first question.
        """
        now = loop_time()
        found = self._had(now) if self._asking is not None and self._asking.done() else None
        if self._asking is None and addresses and now >= self._due:
            self._began = now
            self._heard = now if self._heard is None else self._heard
            address = addresses[self._next % len(addresses)]
            self._asking = asyncio.create_task(metered(self._asked(address)), name=f"ask RAS at {address}")
        return RasAnswer() if found is None and self._silent(now) else found

    async def close(self) -> None:
        """End the open question."""
        asking, self._asking = self._asking, None
        await cancel_and_wait(asking)

    async def _asked(self, text: str) -> RasAnswer:
        address = Address.parse(text)
        return await self._ask(address, self._guards.setdefault(address.host, Guard()))

    def _had(self, now: float) -> RasAnswer | None:
        asked, self._asking = self._asking, None
        assert asked is not None
        try:
            found = asked.result()
        except NoRas as error:
            self.why, self._next = str(error), self._next + 1
            self._due = self._began + (LONG_PAUSE if self._silent(now) else PAUSE)
            return None
        self.why, self._heard = "", now
        self._due = self._began + max(PAUSE, REST * (now - self._began))
        return found

    def _silent(self, now: float) -> bool:
        """Return True after so long without an answer that the last one no longer counts."""
        return self._heard is not None and now - self._heard > FORGET
