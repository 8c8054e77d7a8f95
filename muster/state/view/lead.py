"""The lead: the reporting rank with the lowest number, whose reports show where the time of the programs went.

Its times are by the clock of its program. ``offset`` takes them to wall time: the smallest difference between a look
and the report that it read, so it is late by the shortest way of a report only. *Work* is that clock without announced
pauses.
"""

from typing import NamedTuple

import msgspec

from muster.state.vocabulary.wall_time import WallTime

MOST_POINTS = 32
LONGEST = 10**8
"""Seconds of a claim that are believed: three years."""


class Spent(NamedTuple):
    """The claims of a program about its time, in seconds by its own clock."""

    first: int = -1
    """The first step that it reported; -1 if it does not report that."""
    begun: float = -1.0
    """The work when its first step began; -1 if it does not report that."""
    saved: float = 0.0
    """Pauses for saving checkpoints that are over."""
    restored: float = 0.0
    """Pauses for restoring checkpoints that are over."""
    loaded: float = 0.0
    """Pauses for loading data that are over."""
    paused: float = 0.0
    """All announced pauses that are over."""
    kind: str = ""
    """The kind of the pause that runs."""
    restarts: int = 0
    """The number of restarts of its process inside the pod, by torchrun's count: the times are of the last one."""


class Point(NamedTuple):
    """A step, and a measure of time at it."""

    step: int
    at: float


class Lead(msgspec.Struct, frozen=True):
    """The progress of the lead."""

    rank: int
    offset: WallTime
    at: float
    """The time of its last report, by its own clock."""
    first: int
    begun: float
    """The work when its first step began."""
    spent: Spent
    longest: float
    """The longest time between two of its reports, in seconds."""
    pause: float
    """Seconds of the pause that has begun with the last report; 0 is none."""
    points: tuple[Point, ...] = ()
    """Steps with the work at them, in the order in which they were seen."""
    after: float = 0.0
    """The last start, or end, of a container of its pod before its first step, by the clock of the node; 0: unknown."""

    @property
    def reported_at(self) -> float:
        """The time of its last report, in wall seconds."""
        return self.offset + self.at

    @property
    def begun_at(self) -> float:
        """The time at which its first step began, in wall seconds."""
        return self.offset + self.begun


def another(before: Spent, spent: Spent) -> bool:
    """Return True if a later report of a rank is of another process: these do not change within one."""
    return spent.restarts != before.restarts or spent.first != before.first or 0 <= before.begun != spent.begun


def thinned(points: tuple[Point, ...], most: int) -> tuple[Point, ...]:
    """Return at most so many points of a rising line: those are left out without which it changes least."""
    kept = list(points)
    while len(kept) > most:
        del kept[min(range(1, len(kept) - 1), key=lambda place: _off(*kept[place - 1 : place + 2]))]
    return tuple(kept)


def _off(before: tuple[int, float], here: tuple[int, float], after: tuple[int, float]) -> float:
    """Return how far a point is from the line between its neighbours."""
    return abs(here[1] - between(before, after, here[0]))


def between(before: tuple[int, float], after: tuple[int, float], step: int) -> float:
    """Return the measure at a step on the line through two points."""
    if after[0] == before[0]:
        return before[1]
    return before[1] + (after[1] - before[1]) * (step - before[0]) / (after[0] - before[0])
