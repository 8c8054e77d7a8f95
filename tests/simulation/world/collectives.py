"""Collectives: what the processes of a gang that steps together publish of how long they wait in them.

Each step takes each member a time of its own, and ends with an all_reduce that all leave together. Now and then one of
them stalls for some seconds.
"""

from collections.abc import Sequence
from random import Random

from muster.assist.mounted.at_work import COMPUTING
from muster.assist.mounted.torch_recorder import FASTEST, SAMPLE, STILL
from muster.state.view.at_work import Doing
from muster.state.view.recorder.collectives import CollectiveReport, GroupCount, Share
from tests.scenarios.incidents import Evaluates, Slow

PLACE = "in evaluate (train.py:40)"
"""What a rank computes in while the others wait for it."""

SPREAD = 0.1
"""By which share of itself a step is longer or shorter."""
STALLS, STALL = 0.005, 10.0
"""How many of the steps have a member that stalls, and for how many seconds at most."""


class Collectives:
    """A gang whose members enter a collective every so many seconds."""

    def __init__(self, every: float, size: int, slow: Sequence[Slow | Evaluates]) -> None:
        self.every = every
        self.slow = [each for each in slow if isinstance(each, Slow)]
        self.evaluates = [each for each in slow if isinstance(each, Evaluates)]
        self.random = Random(size)
        self.step = 0
        self.left = 0.0
        """When they left the collective before."""
        self.longest = 0.0
        self.arrives = [0.0] * size
        self.waited = [0.0] * size
        """Seconds that each has been in collectives that are over."""
        self._begin()

    def reports(self, elapsed: float) -> tuple[CollectiveReport, ...]:
        """What they have published ``elapsed`` seconds after their gang was assembled; no earlier time is asked for."""
        while (meets := max(self.arrives)) <= elapsed:
            self.waited = [waited + meets - at for waited, at in zip(self.waited, self.arrives, strict=True)]
            self.longest = max(self.longest, meets - self.left)
            self.step, self.left = self.step + 1, meets
            self._begin()
        return tuple(self._report(rank, elapsed) for rank in range(len(self.arrives)))

    def _begin(self) -> None:
        size = len(self.arrives)
        spread = [self.random.uniform(1 - SPREAD, 1 + SPREAD) for _ in range(size)]
        self.arrives = [self.left + self.every * share for share in spread]
        for each in self.slow:
            if each.after <= self.left < each.after + each.seconds:
                self.arrives[each.rank % size] += each.behind
        for one in self.evaluates:
            if one.after <= self.left:
                self.arrives[one.rank % size] += one.seconds
        self.evaluates = [one for one in self.evaluates if one.after > self.left]
        if self.random.random() < STALLS:
            self.arrives[self.random.randrange(size)] += self.random.uniform(0.0, STALL)

    def _report(self, rank: int, elapsed: float) -> CollectiveReport:
        size, here = len(self.arrives), self.arrives[rank] <= elapsed
        waited = self.waited[rank] + max(0.0, elapsed - self.arrives[rank])
        entered = self.step + here
        counts = entered, int(elapsed / SAMPLE), int(waited / SAMPLE), 0
        share = Share("0", "default_pg", "gloo", size, f"0-{size - 1}", *counts)
        still = elapsed - (self.arrives[rank] if here else self.left)
        beat, moves = int(elapsed / FASTEST), self.step + entered
        group = GroupCount(*share[:5], entered, "all_reduce", here)
        doing = Doing() if here else Doing(PLACE, 1.0, COMPUTING)
        groups = (group,) if still >= STILL else None
        return CollectiveReport(rank, rank, 1, beat, moves, self.longest, still, groups, (share,), doing=doing)
