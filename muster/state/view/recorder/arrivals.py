"""Arrivals: which processes of a synchronous gang come last to its collectives, by how long each waits there.

A process with ``spec.assist`` looks at random moments whether it is in a collective of a group that it has entered and
that is not over (``muster.api.collectives``). All members leave an all_reduce at about the same time, so of two members
the one that is seen in it less often has come later. Each process looks by its own time: no clock is compared with
that of another node. Words:

- A *window* is ``WINDOW`` seconds of looks of this daemon, longer in large gangs, and until every member of the group
  has entered ``FEWEST`` more collectives. It counts only if every member of the group has looked ``SAMPLES`` times or
  more, and all have entered about as many collectives: who is last is not known if one of them is not.
- A process comes *late* in a window if it was in the collectives of the group for at least ``SHARE`` of the time less
  than half of the members, half of that at most, and not for more than ``NEAR`` longer than the one that waited least.
  What it costs is then a fifth of the gang's time or more. A process that waits in another group's collective is not
  late itself.
- A process is *last* once it came late in ``WINDOWS`` windows in a row, and until it came late in as many fewer than it
  did not. One pause can lie in two windows, and a checkpoint beside it in two more. A window that does not count ends
  that: nothing is known then.

Only all_reduce, all_gather, reduce_scatter and barrier show something: a root of a broadcast leaves at once. A process
publishes no samples of a group with another operation.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import median_high
from typing import NamedTuple

import msgspec

from muster.api.collectives import beat_interval
from muster.state.view.stage import Doing
from muster.state.view.turns import A_TURN, Turns
from muster.state.vocabulary.wall_time import WallTime


class GroupCount(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """The state of one process in one process group. Processes with the same state may share one object."""

    name: str
    described: str
    backend: str
    size: int
    ranks: str
    """The ranks as ``0-3,8``; if that is long, its check sum after ``#``."""
    entered: int
    """Collectives entered; -1 if that is not known."""
    operation: str
    waits: bool
    """True if the last one is not over."""
    asked: bool = False
    """True if NCCL reports it (``state.view.recorder.ras``): ``waits`` follows from what others lack."""

    @property
    def of(self) -> tuple[object, ...]:
        """The group; several may have one name."""
        return self.name, self.backend, self.size, self.ranks

    @property
    def words(self) -> str:
        """``all_reduce #6 (default_pg)``."""
        return f"{self.operation} #{self.entered} ({self.group})"

    @property
    def group(self) -> str:
        """The group, by its description if it has one."""
        return group_words(self.name, self.described)


class Share(NamedTuple):
    """The number of moments at which a process was in a group's collectives (``state.view.recorder.arrivals``)."""

    name: str
    described: str
    backend: str
    size: int
    ranks: str
    entered: int
    samples: int
    inside: int
    """Samples in which it was in a collective of this group."""
    elsewhere: int
    """Samples in which it was in a collective of another group only."""


class CollectiveReport(NamedTuple):
    """The last report of one process. It is a claim of the program."""

    member: int
    """The rank of its pod."""
    rank: int
    """The number of the process among all processes."""
    life: int
    beat: int
    moves: int
    longest: float
    still: float
    """Seconds without a move; below 0 if that is not known yet."""
    groups: tuple[GroupCount, ...] | None = None
    """None until it has been still for a while, and if NCCL does not report enough."""
    shares: tuple[Share, ...] = ()
    """The time that it is in collectives; of no group that uses other operations than those that wait for all."""
    device: int = -1
    """The number of its own GPU, if its pod has several and it is known by that; else -1."""
    doing: Doing = Doing()
    pause: float = 0.0
    """Seconds of a pause that the program has announced, and that is not over."""


def group_words(name: str, described: str) -> str:
    """Return the name of a process group, by its description if it has one."""
    return described if described not in ("", "undefined") else f"process group {name}"


WINDOW = 60.0
BEATS = 10
"""A window is at least so many values of each process long: values of one look are of moments that far apart."""
LONGEST_WINDOW = 5
"""Windows after which one that does not fill is given up."""
FEWEST = 20
SAMPLES = 60
"""Half of what a process takes in a window that keeps up; a process that cannot look is not judged."""
SAME = 0.8
SHARE, NEAR, WINDOWS = 0.2, 0.1, 5
SHOWN = 64
JUDGED = 4096
"""Processes of windows that are judged in one look, about: groups have their turn at one of the next looks."""
HOLDS = 120.0
"""Seconds after the last look for which the last processes are still reported."""

_Group = tuple[int, str, str, int, str]
"""Life, name, backend, size and ranks."""


class Last(NamedTuple):
    """A process that comes last to the collectives of a group."""

    member: int
    rank: int
    group: str
    waits: float
    """The share of its time for which it was in them."""
    others: float
    """The share of half of the members, or more."""
    seconds: float
    """Seconds by which it comes later than they do, for each collective."""


class _Window(NamedTuple):
    """The shares of each process of a group when the window began, and in how many windows it came late."""

    began: WallTime
    shares: Mapping[int, Share]
    late: Mapping[int, int] = {}
    last: tuple[Last, ...] = ()


class Arrivals(msgspec.Struct, frozen=True):
    """The processes that come last, as of the last look that read what processes publish."""

    epoch: int
    read_at: WallTime
    windows: Mapping[_Group, _Window]

    def hold(self, now: float) -> bool:
        """Return True if they are of now: an older look proves nothing about a gang whose store no longer answers."""
        return now < self.read_at + HOLDS

    @property
    def last(self) -> tuple[Last, ...]:
        """The processes that come last, by rank; one for each process."""
        found = {each.rank: each for window in self.windows.values() for each in window.last}
        return tuple(found[rank] for rank in sorted(found))

    @property
    def news(self) -> tuple[object, ...]:
        """The facts that a decision depends on: who comes last, and to the collectives of what groups."""
        return tuple((each.rank, each.group) for each in self.last)

    @property
    def members(self) -> tuple[int, ...]:
        """The ranks of their pods, ascending."""
        return tuple(sorted({each.member for each in self.last}))


def arrivals_in_turns(
    reports: Iterable[CollectiveReport], epoch: int, now: float, before: Arrivals | None
) -> Turns[Arrivals | None]:
    """Return the state after a look that read these reports, given the one before it (of any epoch)."""
    known = before.windows if before is not None and before.epoch == epoch else {}
    groups: dict[_Group, dict[int, tuple[int, Share]]] = defaultdict(dict)
    processes = 0
    for processes, report in enumerate(reports, 1):
        if processes % A_TURN == 0:
            yield
        for share in report.shares:
            identity = report.life, share.name, share.backend, share.size, share.ranks
            groups[identity][report.rank] = report.member, share
    least = max(WINDOW, BEATS * beat_interval(processes))
    windows: dict[_Group, _Window] = {}
    left, turn = JUDGED, 0
    for identity, here in groups.items():
        turn += len(here)
        if turn >= A_TURN:
            turn = 0
            yield
        window = known.get(identity)
        if window is not None and now - window.began >= least:
            if left <= 0:  # it is its turn at the next look: those before it have a fresh window then
                windows[identity] = window
                continue
            left -= len(here)
        windows[identity] = yield from _seen(here, now, window, least)
    return Arrivals(epoch, now, windows) if windows else None


def _seen(here: Mapping[int, tuple[int, Share]], now: float, window: _Window | None, least: float) -> Turns[_Window]:
    seconds = now - window.began if window is not None else 0.0
    if window is not None and 0 <= seconds < least:
        return window
    fresh = _Window(now, {rank: share for rank, (_, share) in here.items()})
    if window is None or seconds < 0:
        return fresh
    spans: dict[int, Share] = {}
    for number, (rank, (_, share)) in enumerate(here.items(), 1):
        if (before := window.shares.get(rank)) is not None:
            spans[rank] = _since(share, before)
        if number % A_TURN == 0:
            yield
    size = next(share.size for _, share in here.values())
    entered = [each.entered for each in spans.values()]
    if len(spans) == size and 0 <= min(entered) < FEWEST and seconds < LONGEST_WINDOW * least:
        return window  # slow steps: it continues
    counts = len(spans) == size > 1 and min(entered) >= max(FEWEST, SAME * max(entered))
    if not counts or not all(_sound(each) for each in spans.values()):
        return fresh
    if len(spans) >= A_TURN:
        yield
    return _judged(here, spans, window, fresh, seconds)


def _judged(
    here: Mapping[int, tuple[int, Share]], spans: Mapping[int, Share], window: _Window, fresh: _Window, seconds: float
) -> _Window:
    waits = {rank: each.inside / each.samples for rank, each in spans.items()}
    others, least = median_high(waits.values()), min(waits.values())
    named = {each.rank for each in window.last}
    late: dict[int, int] = {}
    for rank, each in spans.items():
        behind = others - waits[rank]
        comes_late = (
            behind >= max(SHARE, others / 2)
            and waits[rank] <= least + NEAR
            and each.elsewhere / each.samples < behind / 2
        )
        before = window.late.get(rank, 0)
        if count := min(before + 1, WINDOWS) if comes_late else before - 1 if rank in named else 0:
            late[rank] = count
    last = tuple(
        Last(
            member,
            rank,
            group_words(share.name, share.described),
            waits[rank],
            others,
            max(0.0, others - waits[rank]) * seconds / spans[rank].entered,
        )
        for rank, (member, share) in sorted(here.items())
        if late.get(rank, 0) >= (1 if rank in named else WINDOWS)
    )
    return fresh._replace(late=late, last=last[:SHOWN])


def _since(share: Share, before: Share) -> Share:
    """Return the counts that the process has added to its share."""
    return share._replace(
        entered=share.entered - before.entered,
        samples=share.samples - before.samples,
        inside=share.inside - before.inside,
        elsewhere=share.elsewhere - before.elsewhere,
    )


def _sound(span: Share) -> bool:
    return span.samples >= SAMPLES and 0 <= span.inside <= span.samples and span.elsewhere >= 0
