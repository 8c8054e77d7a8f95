"""Virtual gangs that step together and are healthy: what processes would publish of how long they wait, in seconds.

Each step takes each rank a time of its own, and ends with an all_reduce. Now and then any one rank stalls, rank 0
writes a checkpoint every ten minutes, all evaluate without a collective; C code keeps the interpreter's lock, so that
samples and values are late; looks are late. No rank is slower than the others for long: none may be reported as last.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from muster.assist.mounted.torch_recorder import FASTEST, SAMPLE
from muster.state.view.recorder.arrivals import Arrivals, CollectiveReport, Share, arrivals_in_turns
from muster.state.view.turns import finished

SIZE = 4
LOOK = 3.0
CHECKPOINT = 600.0


@dataclass
class _Rank:
    arrives: float = 0.0
    sample_at: float = 0.0
    value_at: float = 0.0
    samples: int = 0
    inside: int = 0
    published: Share | None = None


@dataclass
class SteppingGang:
    """Plays a gang from time 0 on. ``slower``: by how many seconds its rank 1 is in each step."""

    rng: random.Random
    slower: float = 0.0
    verdicts: list[tuple[float, int]] = field(default_factory=list)
    looks: int = 0

    def play(self, hours: float) -> None:
        """Play so many hours."""
        ranks = [_Rank() for _ in range(SIZE)]
        takes, spread = self.rng.uniform(0.3, 3.0), self.rng.uniform(0.01, 0.15)
        now = look_at = 0.0
        checkpoint_at, seen = CHECKPOINT, None
        for entered, rest in enumerate(self._rests()):
            if now >= hours * 3600:
                return
            for number, rank in enumerate(ranks):
                rank.arrives = now + takes * self.rng.uniform(1 - spread, 1 + spread) + rest.get(number, 0.0)
            ranks[1].arrives += self.slower
            if now >= checkpoint_at:
                checkpoint_at += CHECKPOINT
                ranks[0].arrives += self.rng.uniform(2, 30)
            meets = max(rank.arrives for rank in ranks)
            for rank in ranks:
                self._sample(rank, entered, meets)
            while look_at < meets:
                seen = self._look(ranks, look_at, seen)
                look_at += self.rng.uniform(10, 60) if self.rng.random() < 0.002 else LOOK
            now = meets

    def _rests(self) -> Iterator[dict[int, float]]:
        """Who does something else before the next collective, and for how long."""
        while True:
            chance = self.rng.random()
            if chance < 0.002:
                yield {self.rng.randrange(SIZE): self.rng.uniform(1, 40)}
            elif chance < 0.003:
                yield dict.fromkeys(range(SIZE), self.rng.uniform(10, 120))
            else:
                yield {}

    def _sample(self, rank: _Rank, entered: int, until: float) -> None:
        """The samples and values of one rank in this step."""
        while rank.sample_at < until:
            rank.samples += 1
            rank.inside += rank.sample_at >= rank.arrives
            if rank.sample_at >= rank.value_at:
                begun = entered + (rank.sample_at >= rank.arrives)
                rank.published = Share("0", "default_pg", "gloo", SIZE, "0-3", begun, rank.samples, rank.inside, 0)
                rank.value_at = rank.sample_at + FASTEST
            held = self.rng.uniform(1, 10) if self.rng.random() < 0.001 else 0.0
            rank.sample_at += SAMPLE * (0.5 + self.rng.random()) + held

    def _look(self, ranks: list[_Rank], at: float, seen: Arrivals | None) -> Arrivals | None:
        self.looks += 1
        reports = [
            CollectiveReport(number, number, 1, 1, 1, 0.0, 0.0, None, (rank.published,))
            for number, rank in enumerate(ranks)
            if rank.published is not None
        ]
        seen = finished(arrivals_in_turns(reports, 0, at, seen))
        self.verdicts += [(at, each.rank) for each in seen.last] if seen is not None else []
        return seen
