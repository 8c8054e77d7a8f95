"""NCCL's RAS over several looks: its answers as reports of processes (``state.view.recorder.collectives``).

One process here is one rank of NCCL: a GPU of a pod. It is found by the address at which NCCL meets the others, which
is that of its pod, and by the number of its GPU. Words:

- A rank is *late* in an operation that is over for no rank before all have started it, if no rank has started fewer,
  and another has started more. Processes start collectives ahead of their devices, so one that has started more than
  the late one, and fewer than others, waits as they do.
- A rank *keeps up* in an operation if it was where the foremost of them is in one of the last ``KEEPS_UP`` looks after
  which its communicator moved, or if all were at their first collectives then. Of any other the count may not be of the
  same kind: NCCL counts collectives of captured graphs only if a profiler asks for it, and that may be on one rank.
- An answer names ranks only if all is known of all: each communicator has an answer of each of its ranks, none of them
  begins or ends, each rank is found, each that is late keeps up otherwise, and fewer than half of all are late and do
  not wait themselves. Any other answer shows who moves, and never who is late: a rank that seems late may wait for one
  that does not show, and if most seem late, it is the others that count more.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Final, NamedTuple

import msgspec

from muster.state.view.recorder.arrivals import CollectiveReport, GroupCount
from muster.state.view.turns import Turns, batches
from muster.state.vocabulary.wall_time import WallTime

OPERATIONS: Final = ("AllReduce", "AllGather", "ReduceScatter")
"""Operations that are over for no rank before all have started them. A root may leave a Broadcast or a Reduce alone."""


class RasRank(NamedTuple):
    """One rank of a communicator that has answered."""

    rank: int
    """The rank in that communicator."""
    host: str
    """The IP address at which its process meets the others; empty if it is not known."""
    pid: int
    device: int
    """Number of its GPU on its node, as NVML counts."""
    counts: tuple[int, ...]
    """Collectives that it has started, for each of ``OPERATIONS``, and as the last number of every kind."""


class Communicator(NamedTuple):
    """The ranks of one communicator."""

    identity: str
    hash: str
    """The name in NCCL's own log."""
    ranks: tuple[RasRank, ...]
    """The ranks that have answered, in their order."""
    clear: bool
    """True if each of its ranks has answered, and none begins, ends or has an error."""


class RasAnswer(NamedTuple):
    """All communicators of a gang, with how many collectives each rank has started; none if RAS no longer answers.

    RAS (reliability, availability, serviceability) is a thread of each process that uses NCCL 2.24 or later. Any one of
    them answers for all. The counts are of collectives that were started, not of those that are over, and a sentence
    from them claims no more (NVIDIA/nccl: docs/userguide/source/troubleshooting/ras.rst; src/plugin/profiler.cc,
    ncclProfilerStartTaskEvents, counts them).
    """

    communicators: tuple[Communicator, ...] = ()


WARM: Final = 16
"""Collectives of one rank after which ``longest`` begins: before that programs prepare data and compile, for any
time."""
KEEPS_UP: Final = 10
"""Looks, of a minute or more. If a rank is always less far ahead than others, it is not judged."""
BETWEEN: Final = 10.0
"""Seconds between two looks that are counted as a pause without a move, at most."""
_SPAN: Final = 128
"""More than the GPUs of one pod."""

_Counts = tuple[int, ...]


class _Known(NamedTuple):
    counts: Mapping[int, _Counts]
    """The last counts of each of its ranks."""
    clear: bool
    """True if all of them have reported."""
    keep_up: Mapping[tuple[int, int], int]
    """Operations and ranks that keep up in them, and before how many moves they were seen at the foremost place."""


class RasSeen(msgspec.Struct, frozen=True):
    """The findings of RAS, as of its last answer."""

    epoch: int
    read_at: WallTime
    moved_at: WallTime
    looks: int
    moves: int
    """Looks in which something had moved."""
    longest: float
    """The longest time in seconds for which nothing was seen to move."""
    communicators: Mapping[str, _Known]
    reports: tuple[CollectiveReport, ...] = ()


class _Place(NamedTuple):
    member: int
    device: int
    """The number of its own GPU, if its pod has several; -1 if it has one."""

    @property
    def number(self) -> int:
        """The number of the process among all processes."""
        return self.member * _SPAN + max(self.device, 0)


_Places = Mapping[tuple[str, int], _Place]


def ras_in_turns(
    answer: RasAnswer, epoch: int, now: float, rank_of: Mapping[str, int], before: RasSeen | None
) -> Turns[RasSeen]:
    """Return the state after an answer, given the one before it (of any epoch).

    ``rank_of`` gives the rank behind each pod IP, of those IPs that one pod alone has.
    """
    earlier = before if before is not None and before.epoch == epoch else None
    last = earlier.communicators if earlier else {}
    moved = earlier is None or any(_moved(each, last.get(each.identity)) for each in answer.communicators)
    yield
    looks, moves, longest = (earlier.looks + 1, earlier.moves + moved, earlier.longest) if earlier else (1, 1, 0.0)
    if earlier and moved and any(each[-1] >= WARM for of in last.values() for each in of.counts.values()):
        longest = max(longest, earlier.read_at - earlier.moved_at + min(now - earlier.read_at, BETWEEN))
    moved_at = now if moved or earlier is None else earlier.moved_at
    known = {each.identity: _followed(each, last.get(each.identity)) for each in answer.communicators}
    yield
    seen = RasSeen(epoch, now, moved_at, looks, moves, longest, known)
    places = _places(answer, rank_of)
    yield
    reports: list[CollectiveReport] = []
    for batch in batches(_reports(answer, seen, places)):
        reports += batch
        yield
    return msgspec.structs.replace(seen, reports=tuple(reports))


def _moved(each: Communicator, last: _Known | None) -> bool:
    return last is None or any(last.counts.get(rank.rank) != rank.counts for rank in each.ranks)


def _followed(each: Communicator, last: _Known | None) -> _Known:
    counts = {rank.rank: rank.counts for rank in each.ranks}
    keep_up = last.keep_up if last else {}
    if each.clear and all(of[-1] < WARM for of in counts.values()):
        keep_up = dict.fromkeys(product(range(len(OPERATIONS)), counts), 0)
    elif last and _moved(each, last):
        keep_up = {key: moves + 1 for key, moves in keep_up.items() if moves + 1 < KEEPS_UP}
        keep_up |= dict.fromkeys(_foremost(last.counts) if last.clear else (), 0)
    return _Known(counts, each.clear, keep_up)


def _foremost(counts: Mapping[int, _Counts]) -> Iterator[tuple[int, int]]:
    """Yield the operations, each with the ranks that no other rank is ahead of."""
    for operation in range(len(OPERATIONS)):
        top = max(of[operation] for of in counts.values())
        yield from ((operation, rank) for rank, of in counts.items() if of[operation] == top)


def _places(answer: RasAnswer, rank_of: Mapping[str, int]) -> _Places:
    """Return the process of each address and GPU; without those that several processes share."""
    pids: dict[tuple[str, int], set[int]] = {}
    for each in answer.communicators:
        for rank in each.ranks:
            if rank.host in rank_of and 0 <= rank.device < _SPAN:
                pids.setdefault((rank.host, rank.device), set()).add(rank.pid)
    devices = Counter(host for host, _ in pids)
    return {
        (host, device): _Place(rank_of[host], device if devices[host] > 1 else -1)
        for (host, device), found in pids.items()
        if len(found) == 1
    }


def _reports(answer: RasAnswer, seen: RasSeen, places: _Places) -> Iterator[CollectiveReport]:
    """Yield what each process would publish about itself."""
    still = seen.read_at - seen.moved_at if seen.moves > 1 else -1.0
    groups = _groups(answer, seen, places)
    for place in places.values():
        of = None if groups is None else tuple(groups.get(place, ()))
        yield CollectiveReport(
            place.member, place.number, 1, seen.looks, seen.moves, seen.longest, still, of, device=place.device
        )


def _groups(answer: RasAnswer, seen: RasSeen, places: _Places) -> Mapping[_Place, Iterable[GroupCount]] | None:
    """Return the counts of each process in the operations in which any is late; None if not all is known."""
    found: dict[_Place, list[GroupCount]] = defaultdict(list)
    for each in answer.communicators:
        at = [place for rank in each.ranks if (place := places.get((rank.host, rank.device))) is not None]
        if not each.clear or len(set(at)) < len(each.ranks):
            return None
        keep_up = seen.communicators[each.identity].keep_up
        for operation, name in enumerate(OPERATIONS):
            counts = [rank.counts[operation] for rank in each.ranks]
            low = min(counts)
            if low == max(counts):
                continue
            if any(count == low and (operation, rank) not in keep_up for rank, count in enumerate(counts)):
                return None
            words = f"{each.identity} {name}", f"communicator {each.hash}", "nccl", len(counts), ""
            for place, count in zip(at, counts, strict=True):
                entered, waits = min(count, low + 1), count > low
                found[place].append(GroupCount(*words, entered, name, waits, asked=True))
    culprits = [place for place, of in found.items() if not any(each.waits for each in of)]
    return found if 2 * len(culprits) < len(places) else None
