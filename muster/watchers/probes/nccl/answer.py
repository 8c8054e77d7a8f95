"""Reads what NCCL's RAS answers in JSON (NVIDIA/nccl from 2.28.7 on: src/ras/client_support.cc, rasDumpCommsToJSON).

The answer comes from a process of the experiment. One that has not the form that NCCL writes is refused as a whole: a
count that cannot be is no reason to believe the next one (NCCL 2.27.3 wrote ranks that there are not). The text form
is not read: it leaves ranks out, by rules of its own.
"""

from ipaddress import ip_address
from typing import Annotated, Final

import msgspec

from muster.api.gang import MAX_MEMBERS
from muster.api.values.printable import printable
from muster.state.view.recorder.ras_answer import OPERATIONS, Communicator, RasAnswer, RasRank
from muster.state.view.turns import Turns, at_once, batches
from muster.watchers.probes.bounded.parts import MOST_PARTS, parts_of

MAX_DEVICES: Final = 128
"""GPUs of one node: NCCL has at most 72 ranks on it (NCCL_MAX_LOCAL_RANKS)."""
MAX_RANKS: Final = 8 * MAX_MEMBERS
MAX_COMMUNICATORS: Final = 4096
MAX_TEXT: Final = 64
_LARGEST: Final = (1 << 53) - 1
_AT_WORK: Final = frozenset({0, 7})
"""ncclSuccess and ncclInProgress: a communicator that does not block is in progress now and then."""

_Count = Annotated[int, msgspec.Meta(ge=0, le=_LARGEST)]
_Rank = Annotated[int, msgspec.Meta(ge=0, lt=MAX_RANKS)]
_Pid = Annotated[int, msgspec.Meta(ge=-1, le=_LARGEST)]
_Device = Annotated[int, msgspec.Meta(ge=-1, lt=MAX_DEVICES)]
_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TEXT)]


class Unreadable(ValueError):
    """The answer is not one of RAS; the text says why, for people."""


class State(msgspec.Struct):
    """Where a rank is in the life of its communicator."""

    init_state: int
    async_error: int
    finalize_called: bool
    destroy_flag: bool
    abort_flag: bool

    @property
    def at_work(self) -> bool:
        """It neither begins nor ends."""
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
    """A communicator. Ranks that have not answered are those that ``ranks`` lacks."""

    hash: _Text
    secondary_hash: _Text
    size: Annotated[int, msgspec.Meta(ge=1, le=MAX_RANKS)]
    ranks: list[Rank]


class Answer(msgspec.Struct):
    """The whole."""

    communicators_count: _Count
    communicators: Annotated[list[Comm], msgspec.Meta(max_length=MAX_COMMUNICATORS)]


_decoder = msgspec.json.Decoder(Answer)


def decoded_in_turns(data: bytes | bytearray) -> Turns[RasAnswer]:
    """What the answer says. Raises ``Unreadable``."""
    if parts_of(data) > MOST_PARTS:
        raise Unreadable(f"its answer has more than {MOST_PARTS:,} parts")
    try:
        said = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(f"its answer cannot be read: {printable(str(error), 200)}") from None
    if said.communicators_count != len(said.communicators):
        raise Unreadable(f"it counts {said.communicators_count} communicators and has {len(said.communicators)}")
    if len({(each.hash, each.secondary_hash) for each in said.communicators}) != len(said.communicators):
        raise Unreadable("it has a communicator twice")
    hosts: dict[str, str] = {}
    ranks = [(each, rank) for each in said.communicators for rank in each.ranks]
    read: dict[int, list[RasRank]] = {id(each): [] for each in said.communicators}
    for batch in batches(ranks):
        yield
        for each, rank in batch:
            read[id(each)].append(_rank(rank, hosts))
    yield
    return RasAnswer(tuple(_communicator(each, read[id(each)]) for each in said.communicators))


decoded = at_once(decoded_in_turns)


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
    """The text if it is an IP address, in the one form that an address has; a gang has few, and many ranks at each."""
    found = hosts.get(text)
    if found is None:
        try:
            found = str(ip_address(text))
        except ValueError:
            found = ""
        hosts[text] = found
    return found
