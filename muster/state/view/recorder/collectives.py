"""Collectives: which process has not entered the one that others wait in, by the counts that processes publish.

Every process of a PyTorch gang with ``spec.assist`` publishes, for each process group that it is in, how many
collectives it has entered and whether the last one is over (``muster.api.collectives``). Point-to-point operations are
not counted, and count as a move. Words:

- The gang is *still* if no process has moved, in any group, for three looks and for ``patience``: ``STILL_SECONDS``, or
  ``LONGER`` times the longest time for which a process did not move before. A checkpoint of one rank that takes as long
  as one before it is not reported. Until a group has come to its ``WARM``-th collective, ``FIRST_SECONDS``: one rank
  prepares data or compiles while the others wait.
- A process is *behind* in a group if it has entered fewer collectives of it than another one that waits in the last.
  Equal counts prove nothing, and neither does a count that nothing waits at. A process that is in no such group, or
  whose count is not known, is not behind.
- A process is *silent* if it has published before, and its value has stayed the same for ``LOOKS`` looks and
  ``SILENT_SECONDS`` while others publish: it is stopped, or its C code keeps the interpreter's lock. In a group that
  has it as a member, and in which others wait, it is named with its last published count, if any.
- A process that is behind, and is in a call of torch.distributed itself, waits for others: it is named only if no other
  one is late, and if each member of all groups that any process waits in has published what it has entered.

All of it are claims of programs. A false claim harms its own run, and costs a bounded time: more than ``MOST_STATES``
different claims are not judged, and each look names about ``MOST_LATE`` processes at most.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from muster.api.collectives import beat_interval
from muster.api.values.rank_ranges import spans
from muster.state.view.recorder.arrivals import CollectiveReport, GroupCount
from muster.state.view.stage import Awaited
from muster.state.view.turns import A_TURN, Turns, batches
from muster.state.vocabulary.wall_time import WallTime

LOOKS = 3
"""Looks without a move, and looks at an unchanged value, after which a process counts as still or silent."""
STILL_SECONDS = 45.0
LONGER = 5
FIRST_SECONDS = 600.0
WARM = 5
SILENT_SECONDS = 15.0
LONGEST = 6 * 3600.0
"""Seconds: the longest time without a move that is believed."""
MOST_STATES = 8192
"""Different groups and counts of one look. A gang of 4,096 processes has some 2,000 groups, at one or two counts."""
MOST_LATE = 4096
"""Processes that one look names, once for each collective. The collective with most that wait is complete."""
MOST_PAIRS = 4 * MOST_LATE
"""Processes and collectives that they have not entered. If there are more, none is reported."""
MOST_SPANS = 16_384
"""Spans of ranks that one look reads to find the groups of silent processes."""


class _Process(NamedTuple):
    """One process: its last report, and in how many looks and for how many seconds it was the same."""

    report: CollectiveReport
    same: int = 0
    quiet: float = 0.0


class Late(NamedTuple):
    """A process that has not entered the collective."""

    member: int
    rank: int
    entered: int
    """Collectives of that group that it has entered; -1 if that is not known."""
    silent: bool
    """True if it no longer publishes."""
    waits: str
    """The collective of another group that it waits in itself; or empty."""
    device: int = -1
    """The number of its own GPU, if its pod has several; else -1."""
    called: str = ""
    """The operation that it has called where others have called that one, at the same number: neither is ever over."""


class Behind(NamedTuple):
    """A collective in which processes wait for others."""

    at: GroupCount
    """The state of those that wait. If NCCL reports it, whether it is over for them is not known."""
    waiting: int
    """The number of processes that wait in it."""
    late: tuple[Late, ...]
    callers: tuple[int, ...] = ()
    """The ranks that have called it, if ``late`` have called others at its number (``recorder.judgement``)."""


class Collectives(msgspec.Struct, frozen=True):
    """The state of the processes of a gang, as of the last look that read what they publish."""

    epoch: int
    read_at: WallTime
    moved_at: WallTime
    """The time of the last move that was seen; at the first look, of the last one by their own claims."""
    looks: int
    """Looks since then."""
    longest: float
    moved: bool
    """True if this daemon has seen a process move."""
    judged: bool = True
    """True if processes report since when they do not move, or their state in groups."""
    behind: tuple[Behind, ...] = ()
    """The collectives that processes wait in while the gang is still, the one that most wait in first."""
    awaited: Awaited | None = None
    """The ranks at work that the others wait for meanwhile: then no collective is stuck yet."""
    workers: frozenset[int] = frozenset()
    """All ranks at work that are not in a collective."""
    idle: bool = False
    """True if every process waits, for no other one and in no collective."""
    processes: Mapping[tuple[int, int], _Process] = {}

    @property
    def unsure(self) -> bool:
        """True if this daemon has not seen enough to know that no process moves, and who is behind."""
        return not self.moved and (self.looks < LOOKS or not self.judged)


def collectives_in_turns(
    reports: Iterable[CollectiveReport], epoch: int, now: float, before: Collectives | None, *, pause: float = 0.0
) -> Turns[Collectives | None]:
    """Return the state after a look that read these reports, given the one before it (of any epoch).

    ``pause``: seconds that the program has announced to make no step.
    """
    earlier = before if before is not None and before.epoch == epoch else None
    known = earlier.processes if earlier else {}
    processes: dict[tuple[int, int], _Process] = {}
    moved = False
    for number, report in enumerate(reports, 1):
        if number % A_TURN == 0:
            yield
        key = report.member, report.rank
        last = known.get(key)
        if last is not None and (last.report.life, last.report.beat) == (report.life, report.beat):
            more = max(0.0, now - earlier.read_at) if earlier else 0.0
            processes[key] = _Process(last.report, min(last.same + 1, LOOKS), last.quiet + more)
            continue
        moved = moved or last is None or (last.report.life, last.report.moves) != (report.life, report.moves)
        processes[key] = _Process(report)
    if not processes:
        return earlier
    yield
    judged = any(each.report.still >= 0 or each.report.groups is not None for each in processes.values())
    if earlier is None:
        moved_at, looks = now - max(0.0, min(each.report.still for each in processes.values())), 1
    else:
        moved_at, looks = (now, 0) if moved else (earlier.moved_at, min(earlier.looks + 1, LOOKS))
    longest = min(max(each.report.longest for each in processes.values()), LONGEST)
    pause = max(pause, *(min(each.report.pause, LONGEST) for each in processes.values()))
    patience = max(STILL_SECONDS, LONGER * longest, pause)
    behind: tuple[Behind, ...] = ()
    if looks >= LOOKS and now - moved_at >= patience:
        first = now - moved_at >= max(FIRST_SECONDS, patience)
        yield
        behind = tuple(each for each in (yield from _who_is_behind(processes)) if first or each.at.entered >= WARM)
    return Collectives(
        epoch=epoch,
        read_at=now,
        moved_at=moved_at,
        looks=looks,
        longest=longest,
        moved=earlier is not None and (moved or earlier.moved),
        judged=judged,
        behind=behind,
        processes=processes,
    )


def _who_is_behind(processes: Mapping[tuple[int, int], _Process]) -> Turns[tuple[Behind, ...]]:
    """Return the collectives that processes wait in, with those that have not entered them."""
    quiet = max(SILENT_SECONDS, 3 * beat_interval(len(processes)))
    silent = _Silent([each for each in processes.values() if each.same >= LOOKS and each.quiet >= quiet])
    lives: dict[int, list[CollectiveReport]] = defaultdict(list)
    counted: dict[int, Counter[GroupCount]] = defaultdict(Counter)
    for batch in batches(processes.values()):
        yield
        for each in batch:
            if each.report.groups and each.report.rank not in silent.of_rank:
                lives[each.report.life].append(each.report)
                counted[each.report.life].update(each.report.groups)
        if sum(map(len, counted.values())) > MOST_STATES:
            return ()
    waits = {life: _waits(states, silent) for life, states in counted.items()}
    pairs = 0
    for group in batches((report, waits[life]) for life, reports in lives.items() for report in reports):
        yield
        pairs += sum(_find_late(report, of_life) for report, of_life in group)
        if pairs > MOST_PAIRS:
            return ()
    yield
    found = [wait for of_life in waits.values() for wait in dict.fromkeys(of_life.values())]
    found.sort(key=lambda each: (-each.waiting, each.at.name))
    late = tuple(_named(found, silent, alone=True))
    return late or (tuple(_named(found, silent, alone=False)) if all(map(_whole, counted.values())) else ())


@dataclass(slots=True, eq=False)
class _Wait:
    """A collective that the foremost members of a group wait in. Other members have not entered it."""

    at: GroupCount
    waiting: int
    silent: list[slice]
    """The silent processes that are members."""
    alone: list[tuple[CollectiveReport, GroupCount]] = field(default_factory=list)
    """The processes that wait in no collective themselves."""
    others: list[tuple[CollectiveReport, GroupCount]] = field(default_factory=list)


class _Silent:
    """The silent processes, ordered by rank."""

    def __init__(self, processes: list[_Process]) -> None:
        self.of_rank = {each.report.rank: each for each in processes}
        self._ranks = sorted(self.of_rank)
        self._left = MOST_SPANS

    def members(self, ranks: str) -> list[slice]:
        """Return the places of a group's silent members; none if only the check sum of its ranks is known."""
        self._left -= ranks.count(",") + 1
        if not self._ranks or ranks.startswith("#") or self._left < 0:
            return []
        bounds = ((bisect_left(self._ranks, first), bisect_right(self._ranks, last)) for first, last in spans(ranks))
        return [slice(first, last) for first, last in bounds if first < last]

    def at(self, slices: list[slice]) -> Iterator[_Process]:
        """Return the processes there."""
        return (self.of_rank[rank] for each in slices for rank in self._ranks[each])


def _waits(counted: Mapping[GroupCount, int], silent: _Silent) -> dict[GroupCount, _Wait]:
    """Return the collectives that members of one life wait in, by the states of those who have not entered them.

    One that only silent processes have not entered is found by the state of those that wait.
    """
    groups: dict[tuple[object, ...], list[GroupCount]] = defaultdict(list)
    for state in counted:
        groups[state.of].append(state)
    found: dict[GroupCount, _Wait] = {}
    for states in groups.values():
        top = max(each.entered for each in states)
        foremost = [each for each in states if each.waits and each.entered == top]
        if not foremost or top < 1:
            continue
        one, late = foremost[0], [each for each in states if 0 <= each.entered < top]
        wait = _Wait(one, sum(counted[each] for each in foremost), silent.members(one.ranks))
        if late or wait.silent:
            found |= dict.fromkeys(late or (one,), wait)
    return found


def _whole(counted: Mapping[GroupCount, int]) -> bool:
    """Return True if all members of each group that any process waits in have published what they have entered."""
    missing: dict[tuple[object, ...], int] = {}
    for each, count in counted.items():
        known = count if each.entered >= 0 else 0
        missing[each.of] = missing.get(each.of, each.size) - known
    return not any(each.waits and missing[each.of] > 0 for each in counted)


def _find_late(report: CollectiveReport, waits: Mapping[GroupCount, _Wait]) -> int:
    """Add the process to each collective that it has not entered; return to how many."""
    groups, pairs = report.groups or (), 0
    if waits.keys().isdisjoint(groups):
        return 0
    busy = report.doing.meets or any(each.waits for each in groups)
    for state in groups:
        wait = waits.get(state)
        if wait is not None and state.entered < wait.at.entered:
            (wait.others if busy else wait.alone).append((report, state))
            pairs += 1
    return pairs


def _named(found: Iterable[_Wait], silent: _Silent, *, alone: bool) -> Iterator[Behind]:
    """Yield the collectives with those who are late; ``alone``: without late ones that wait for others themselves."""
    left = MOST_LATE
    for wait in found:
        one = wait.at
        pairs = wait.alone if alone else wait.alone + wait.others
        late = [
            Late(each.member, each.rank, state.entered, silent=False, waits=_waits_in(each), device=each.device)
            for each, state in pairs
        ]
        late += [_silenced(each, one) for each in silent.at(wait.silent)]
        if not late:
            continue
        late.sort(key=lambda each: each.rank)
        yield Behind(one, wait.waiting, tuple(late))
        left -= len(late)
        if left <= 0:
            return


def _silenced(process: _Process, wanted: GroupCount) -> Late:
    report = process.report
    same = [each.entered for each in report.groups or () if each.name == wanted.name and each.ranks == wanted.ranks]
    entered = same[0] if same and same[0] < wanted.entered else -1
    return Late(report.member, report.rank, entered, silent=True, waits="")


def _waits_in(report: CollectiveReport) -> str:
    """Return its own wait: NCCL's ranks may wait in two operations of one communicator, so its name is shown."""
    one = next((each for each in report.groups or () if each.waits), None)
    if one is None:
        return ""
    return one.words if one.asked else f"{one.operation} #{one.entered}"
