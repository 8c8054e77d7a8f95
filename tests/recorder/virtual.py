"""A virtual gang that is healthy: hours of what its processes would publish of their collectives, in seconds.

Ranks compute for a time of their own, meet in an all_reduce, and go on. Now and then one rank writes a checkpoint,
or all of them evaluate; a C call keeps the interpreter's lock, so that a value is late; the store or the probe is slow,
so that a look is late. A pause is as long as pages allow: at first less than 45 s, later less than five
times the longest before.
"""

import random
from dataclasses import dataclass, field

from muster.assist.mounted.torch_recorder import FASTEST, STILL, WARM
from muster.state.view.recorder.arrivals import CollectiveReport, GroupCount
from muster.state.view.recorder.collectives import Collectives, collectives_in_turns
from muster.state.view.turns import finished

SIZE = 4
LOOK = 3.0
FIRST_PAUSE, SHARE = 40.0, 4.5
"""The longest pause before there was one, in seconds, and how much longer than the longest before one may be."""


@dataclass
class Rank:
    """One process, and the value that it has published last."""

    number: int
    entered: int = 0
    arrives: float = 0.0
    """When it enters the next collective."""
    moved_at: float = 0.0
    moves: int = 0
    longest: float = 0.0
    beat: int = 0
    next_value: float = 0.0
    published: CollectiveReport | None = None

    def move(self, at: float) -> None:
        """It has entered a collective, or one is over."""
        if self.entered >= WARM:
            self.longest = max(self.longest, at - self.moved_at)
        self.moved_at, self.moves = at, self.moves + 1

    def publish(self, at: float, *, waits: bool) -> None:
        """Write a value."""
        self.beat += 1
        still = at - self.moved_at
        counts = None
        if still >= STILL:
            operation = "all_reduce" if self.entered else ""
            counts = (GroupCount("0", "default_pg", "gloo", SIZE, f"0-{SIZE - 1}", self.entered, operation, waits),)
        self.published = CollectiveReport(
            self.number, self.number, 1, self.beat, self.moves, self.longest, still, counts
        )


@dataclass
class VirtualGang:
    """Plays a gang from time 0 on. ``hangs_at``: the hour from which one rank computes forever."""

    rng: random.Random
    hangs_at: float = float("inf")
    now: float = 0.0
    ranks: list[Rank] = field(default_factory=lambda: [Rank(number) for number in range(SIZE)])
    pause: float = 0.0
    """The longest that a rank has made."""
    seen: Collectives | None = None
    verdicts: list[tuple[float, str]] = field(default_factory=list)
    looks: int = 0

    def play(self, hours: float) -> None:
        """Play so many hours."""
        look_at = LOOK
        self._compute(0.0)
        while self.now < hours * 3600:
            meets = max(rank.arrives for rank in self.ranks)
            self.now = min(meets, look_at, *(rank.arrives for rank in self.ranks if not self._waits(rank)))
            for rank in self.ranks:
                if rank.next_value <= self.now:
                    self._value(rank)
                if rank.arrives == self.now and not self._waits(rank):
                    rank.entered += 1
                    rank.move(self.now)
            if self.now >= look_at:
                self._look()
                look_at = self.now + (self.rng.uniform(10, 60) if self.rng.random() < 0.002 else LOOK)
            if self.now >= meets:
                for rank in self.ranks:
                    rank.move(self.now)
                self._compute(self.now)

    def _waits(self, rank: Rank) -> bool:
        return rank.entered > min(each.entered for each in self.ranks) or rank.arrives < self.now

    def _value(self, rank: Rank) -> None:
        held = self.rng.uniform(5, 20) if self.rng.random() < 0.001 else FASTEST  # a C call keeps the lock
        rank.publish(self.now, waits=self._waits(rank))
        rank.next_value = self.now + held

    def _compute(self, at: float) -> None:
        """When each rank enters the next collective."""
        step = self.rng.uniform(2, 12)
        for rank in self.ranks:
            rank.arrives = at + step * self.rng.uniform(0.9, 1.1)
        if self.rng.random() < 0.01:
            most = max(FIRST_PAUSE, min(SHARE * self.pause, 1800.0))
            pause = self.rng.uniform(1, most)
            self.pause = max(self.pause, pause)
            for rank in self.ranks if self.rng.random() < 0.5 else self.rng.sample(self.ranks, 1):
                rank.arrives += pause
        if at >= self.hangs_at * 3600:
            self.ranks[1].arrives = float("inf")

    def _look(self) -> None:
        self.looks += 1
        reports = [rank.published for rank in self.ranks if rank.published is not None]
        self.seen = finished(collectives_in_turns(reports, 0, self.now, self.seen))
        if self.seen is not None and self.seen.behind:
            self.verdicts.append((self.now, str(self.seen.behind)))
