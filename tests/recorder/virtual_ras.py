"""Virtual gangs on NCCL that are healthy: hours of what RAS would answer of them, in seconds.

Ranks start collectives ahead of their devices, some further than others, meet in them, and go on: in one communicator
of all and in two of half. Now and then one rank writes a checkpoint, or all evaluate for up to half an hour; RAS is
slow, or does not reach a rank that works; some gangs count more collectives of one rank from some time on, as where a
profiler counts captured graphs. A pause of one rank is as long as pages allow: at first less than 45 s,
later less than five times the longest before.
"""

import random
from dataclasses import dataclass, field

from muster.state.view.recorder.collectives import Collectives, collectives_in_turns
from muster.state.view.recorder.ras import Communicator, RasAnswer, RasRank, RasSeen, ras_in_turns
from muster.state.view.turns import finished
from tests.recorder.virtual import FIRST_PAUSE, SHARE, SIZE

LOOK = 6.0
AHEAD = 3
"""Collectives that a rank may have started while its device is in one before."""
HOSTS = tuple(f"10.0.0.{rank + 1}" for rank in range(SIZE))
HEALTHY = float("inf")
TEAMS = {"0x1": tuple(range(SIZE)), "0x2": (0, 1), "0x3": (2, 3)}
"""The ranks of each communicator."""


@dataclass
class RasGang:
    """Plays a gang from time 0 on. ``hangs_at``: the hour from which rank 1 starts no collective.

    Unless it hangs, it may be one in which more collectives of rank 3 are counted.
    """

    rng: random.Random
    hangs_at: float = HEALTHY
    verdicts: list[tuple[float, str]] = field(default_factory=list)
    looks: int = 0

    def __post_init__(self) -> None:
        self._ready = [0.0] * SIZE
        """When each rank has come to its next step."""
        self._steps = [0] * SIZE
        """Steps whose collectives each rank has started."""
        self._met = [0.0]
        """When the ranks have left the collectives of each step."""
        self._rests: dict[int, float] = {}
        """After which steps all of them rest, and for how long."""
        self._pause = 0.0
        self._unheard: dict[int, float] = {}
        """Ranks that RAS does not reach, until then."""
        self._more = self.rng.choice((0, 20, 10_000)) if self.hangs_at == HEALTHY else 0
        """So many collectives more are counted of rank 3, from its 50th step on."""
        self._takes = self.rng.uniform(0.5, 12)
        ahead = self.rng.choice(((0,), (AHEAD,), (0, AHEAD)))
        self._ahead = [self.rng.choice(ahead) for _ in range(SIZE)]
        self._ras: RasSeen | None = None
        self._seen: Collectives | None = None

    def play(self, hours: float) -> None:
        """Play so many hours."""
        now, end = 0.0, hours * 3600
        while now < end:
            now += self.rng.uniform(10, 50) if self.rng.random() < 0.002 else LOOK
            self._advance(now)
            self._lose(now)
            self._look(now)

    def _advance(self, until: float) -> None:
        """Each rank starts the collectives of the steps that it comes to; a step is over when all have started it."""
        while True:
            rank = min(range(SIZE), key=lambda each: self._starts(each))
            at = self._starts(rank)
            if at > until:
                return
            self._steps[rank] += 1
            if min(self._steps) == len(self._met):
                self._met.append(at)
            self._ready[rank] = at + self._takes * self.rng.uniform(0.8, 1.2)
            if rank == 1 and self._ready[rank] >= self.hangs_at * 3600:
                self._ready[rank] = float("inf")
            self._maybe_rest(rank)

    def _starts(self, rank: int) -> float:
        """When it starts the next step: it has come there, and its device is not too far behind."""
        behind = self._steps[rank] - self._ahead[rank]
        if behind >= len(self._met):
            return float("inf")
        return max(self._ready[rank], self._met[behind] if behind >= 0 else 0.0)

    def _maybe_rest(self, rank: int) -> None:
        """A rank rests alone, or all of them after the same step: those for as long as they like."""
        self._ready[rank] += self._rests.get(self._steps[rank], 0.0)
        if self._steps[rank] < 20 or self.rng.random() >= 0.001:
            return
        if self.rng.random() < 0.3:
            self._rests[max(self._steps) + 1] = self.rng.uniform(10, 1800)
            return
        pause = self.rng.uniform(1, max(FIRST_PAUSE - self._takes * (2 + AHEAD), min(SHARE * self._pause, 1800.0)))
        self._pause = max(self._pause, pause - self._takes * (2 + AHEAD))
        self._ready[rank] += pause

    def _lose(self, now: float) -> None:
        """RAS does not reach a rank that works."""
        self._unheard = {rank: until for rank, until in self._unheard.items() if until > now}
        if self.rng.random() < 0.001:
            lasting = self.rng.choice((20.0, 120.0, 1800.0))
            self._unheard[self.rng.randrange(SIZE)] = now + lasting

    def _look(self, now: float) -> None:
        self.looks += 1
        answer = RasAnswer(tuple(self._communicator(name, team) for name, team in TEAMS.items()))
        self._ras = finished(ras_in_turns(answer, 0, now, {host: rank for rank, host in enumerate(HOSTS)}, self._ras))
        if self._ras.reports:
            self._seen = finished(collectives_in_turns(self._ras.reports, 0, now, self._seen))
        if self._seen is not None and self._seen.behind:
            self.verdicts.append((now, str(self._seen.behind)))

    def _communicator(self, name: str, team: tuple[int, ...]) -> Communicator:
        ranks = tuple(self._rank(place, rank) for place, rank in enumerate(team) if rank not in self._unheard)
        return Communicator(name, name, ranks, clear=len(ranks) == len(team))

    def _rank(self, place: int, rank: int) -> RasRank:
        steps = self._steps[rank]
        reduced = 2 * steps + min(max(0, steps - 50), self._more) * (rank == 3)
        return RasRank(place, HOSTS[rank], 7, 0, (reduced, steps, 0, reduced + steps + steps))
