"""Places: where in their programs an epoch's ranks are, by the reports of their processes (``muster.api.places``).

A rank is *standing* while its program is in one and the same call. It gives *no answer* once its value has been the
same for ``SILENT`` seconds, or three times the pace at which it writes: its process is stopped, or C code keeps the
lock of the interpreter. Ranks at one line of the program, in one function that it called there, are one group.

The gang is *still* when every rank is standing, for ``STANDS`` seconds or five times the longest time that any of them
was standing before, or gives no answer, and they are not all at one place: a program of one long call is standing, too,
and so is one that is compiled. It is never still before each rank has been seen to come back to places, because a start
is no loop, nor while no rank waits for others, as in a notebook that idles.

Ranks *at work* (``state.view.stage``) are not standing, whatever they are in. While all others are, the gang is
*awaited*: it is still once that has lasted for longer than such a pause may.

The largest group is where the others wait, if it has more than half of all ranks; then the *outliers* are the rest.
"""

from collections.abc import Iterable, Mapping
from math import inf
from typing import NamedTuple

import msgspec

from muster.api.places import NOTICE, RETURNS, located, longest_interval, place_interval
from muster.state.view.progress import Progress
from muster.state.view.stage import Awaited, Doing, awaited
from muster.state.view.turns import A_TURN, Turns
from muster.state.vocabulary.wall_time import WallTime


class PlaceReport(NamedTuple):
    """The place of one rank. It is a claim of the program."""

    rank: int
    at: float
    """The time by the monotonic clock of the program, as ``since``."""
    since: float
    longest: float = 0.0
    returns: int = RETURNS
    function: str = ""
    file: str = ""
    line: int = 0
    stack: str = ""
    """Equal for equal stacks."""
    quiet: float = inf
    """Seconds since the process was last seen at work, as of this report."""
    how: str = ""
    alone: bool = False
    """True if it waits, and for no other rank."""
    pause: float = 0.0
    """Seconds of a pause that the program has announced, and that is not over."""
    processes: int = 0
    """The number of processes that it has joined with; 0 if that is not known."""

    @property
    def doing(self) -> Doing:
        """The work of the rank."""
        return Doing(self.place, self.quiet, self.how, self.alone)

    @property
    def stood(self) -> float:
        """Seconds in this call, as of this report."""
        return max(0.0, self.at - self.since)

    @property
    def place(self) -> str:
        """``in next (data.py:41)``."""
        return located(self.function, self.file, self.line)


class Heard(NamedTuple):
    """The last report of a rank, and when it was first read: seconds after ``Places.began_at``."""

    report: PlaceReport
    after: float


class PlaceGroup(NamedTuple):
    """Ranks at one place, ascending."""

    ranks: tuple[int, ...]
    place: str
    answers: bool = True


STANDS = 40.0
"""Seconds in one call: with the pace of the values and of the looks, a gang of up to 800 is known to be still
within 55 s."""
SILENT = 30.0
QUIET = 2
"""Intervals of its reports for which a rank that makes progress is believed to be where it was."""
INTERVALS = 5
LONGEST = 6 * 3600.0
"""Seconds: the longest time in one call that is believed."""


class Places(msgspec.Struct, frozen=True):
    """The places of the ranks, as of the last look that read their reports."""

    epoch: int
    began_at: WallTime
    """The time at which the first reports of the epoch were read."""
    groups: tuple[PlaceGroup, ...] = ()
    """The largest first, then by rank; those that give no answer after those that do."""
    still_since: WallTime | None = None
    """The time since which the gang is still; None if it is not."""
    awaited: Awaited | None = None
    """The ranks at work that all others wait for, if those are in one call; with ``still_since`` for too long."""
    workers: frozenset[int] = frozenset()
    """All ranks at work."""
    idle: bool = False
    """True if every rank waits, and for no other rank."""
    equal: bool = False
    """True if all ranks are in one call, with equal stacks."""
    moving: bool = True
    """True if a rank is known to make progress."""
    holds_until: WallTime | None = None
    """The time until which the places may be reported; None: for as long as they are known.

    A rank that made progress when it was heard last, and is quiet since, may have been stopped somewhere else.
    """
    numbers: tuple[tuple[int, tuple[int, ...]], ...] = ()
    """Other numbers of processes than the coordinator's, with the ranks that have joined with them."""
    stacks: Mapping[int, tuple[str, ...]] = {}
    """Stacks that were read, of one rank for each kind, the innermost call first."""
    ranks: Mapping[int, Heard] = {}

    @property
    def size(self) -> int:
        """The number of ranks that have reported their place."""
        return len(self.ranks)

    @property
    def outliers(self) -> tuple[PlaceGroup, ...]:
        """The groups beside the one with more than half of all ranks; none if no group has so many."""
        majority = bool(self.groups) and self.groups[0].answers and 2 * len(self.groups[0].ranks) > self.size
        return self.groups[1:] if majority else ()

    @property
    def news(self) -> tuple[object, ...]:
        """The facts that a decision depends on."""
        if self.still_since or not self.moving:
            return self.still_since, self.groups, self.equal, self.stacks, self.awaited, self.numbers
        return tuple(filter(None, (self.awaited, self.numbers)))


def places_in_turns(
    reports: Iterable[PlaceReport],
    stacks: Mapping[int, tuple[str, ...]],
    epoch: int,
    now: float,
    before: Places | None,
    size: int,
    progress: Progress | None = None,
) -> Turns[Places | None]:
    """Return the places after a look that read these reports, given those before it; ``size`` is that of the gang."""
    earlier = before if before is not None and before.epoch == epoch else Places(epoch, began_at=now)
    began = earlier.began_at
    ranks: dict[int, Heard] = {}
    for number, report in enumerate(reports, 1):
        if number % A_TURN == 0:
            yield
        last = earlier.ranks.get(report.rank)
        ranks[report.rank] = last if last is not None and last.report == report else Heard(report, now - began)
    if not ranks:
        return earlier if earlier is before else None
    yield
    silent_after = max(SILENT, 3 * place_interval(size))
    silent = {rank for rank, heard in ranks.items() if now - began - heard.after >= silent_after}
    answering = [heard.report for rank, heard in ranks.items() if rank not in silent]
    getting_on = [h.after for rank, h in ranks.items() if rank not in silent and h.report.stood < NOTICE]
    yield
    groups = _groups(ranks, silent)
    yield
    since: float | None = None
    waited_for: Awaited | None = None
    if len(ranks) >= size and len(groups) > 1 and makes_no_step(progress):
        since, waited_for = _still_since(ranks, answering, now, earlier.awaited)
    if since is not None and earlier.still_since is not None:
        since = earlier.still_since
    yield
    return Places(
        epoch=epoch,
        began_at=began,
        groups=groups,
        still_since=since,
        awaited=waited_for,
        workers=frozenset(report.rank for report in answering if report.doing.works),
        idle=len(answering) == len(ranks) and all(report.alone for report in answering),
        equal=len({report.stack for report in answering}) == 1 and not silent and not getting_on,
        moving=bool(getting_on),
        holds_until=began + min(getting_on) + QUIET * longest_interval(size) if getting_on else None,
        numbers=_numbers(ranks, size),
        stacks=stacks,
        ranks=ranks,
    )


def makes_no_step(progress: Progress | None) -> bool:
    """Return True if the reported steps, if any, agree: none for so long, and no announced pause."""
    if progress is None:
        return True
    patience = max(STANDS, INTERVALS * progress.longest, progress.pause)
    return progress.repeated and progress.read_at - progress.moved_at >= patience


def _numbers(ranks: Mapping[int, Heard], size: int) -> tuple[tuple[int, tuple[int, ...]], ...]:
    other: dict[int, list[int]] = {}
    for rank in sorted(rank for rank, heard in ranks.items() if heard.report.processes not in (0, size)):
        other.setdefault(ranks[rank].report.processes, []).append(rank)
    return tuple((number, tuple(of)) for number, of in other.items())


def _groups(ranks: Mapping[int, Heard], silent: set[int]) -> tuple[PlaceGroup, ...]:
    at: dict[tuple[str, bool], list[int]] = {}
    for rank in sorted(ranks):
        at.setdefault((ranks[rank].report.place, rank not in silent), []).append(rank)
    found = [PlaceGroup(tuple(members), place, answers) for (place, answers), members in at.items()]
    return tuple(sorted(found, key=lambda group: (not group.answers, -len(group.ranks), group.ranks)))


def _still_since(
    ranks: Mapping[int, Heard], answering: list[PlaceReport], now: float, before: Awaited | None
) -> tuple[float | None, Awaited | None]:
    """Return since when every rank is in one call or gives no answer, if that is long enough; or who is awaited."""
    reports = [heard.report for heard in ranks.values()]
    if 2 * len(answering) < len(ranks) or any(report.returns < RETURNS for report in reports):
        return None, None
    longest = INTERVALS * min(LONGEST, max(report.longest for report in reports))
    patience = max(STANDS, longest, *(min(LONGEST, report.pause) for report in reports))
    standing = [report for report in answering if not report.doing.works]
    shortest = min((report.stood for report in standing), default=0.0)
    if shortest < patience or all(report.alone for report in standing):
        return None, None
    workers = ((report.rank, report.doing) for report in answering if report.doing.works)
    waited_for = awaited(workers, len(standing), before)
    if waited_for is not None and not waited_for.outlasts(shortest, longest):
        return None, waited_for
    return now - shortest, waited_for
