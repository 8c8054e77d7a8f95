"""Processes at work while others wait for them: they compute, read or write, as far as they show it themselves.

A pause of one rank (an evaluation, a checkpoint) looks like a hang to all the others: it is none as long as the rank is
seen at work, and no longer than ``OWN_SECONDS``, or five times the longest such pause before. One that waits for a
person to type may wait for any time.
"""

from collections.abc import Iterable
from math import inf
from typing import NamedTuple

from muster.api.places import INPUT
from muster.api.values.rank_ranges import to_ranges

WORKS = 30.0
"""Seconds for which a process is at work after it was last seen to be."""
OWN_SECONDS = 600.0
"""Seconds for which others may wait for one that is at work, in the first such pause."""
NAMED_PLACES = 3
"""Places that a sentence names."""
NAMED_RANGES = 60
"""Characters of the ranges of ranks at one place."""


class Doing(NamedTuple):
    """What one process does. It is a claim of the program."""

    place: str = ""
    """``in evaluate (train.py:40)``."""
    quiet: float = inf
    """Seconds since it was last seen at work, as of its report."""
    how: str = ""
    """What it did then: one of the words of ``muster.api.places``."""
    alone: bool = False
    """It waits, and for no other rank."""
    meets: bool = False
    """It is in a call of torch.distributed, in which a program waits for other ranks."""

    @property
    def works(self) -> bool:
        """It is at work."""
        return self.quiet < WORKS


class Awaited(NamedTuple):
    """Ranks at work, each with what it does, and how many others wait for them."""

    workers: tuple[tuple[int, Doing], ...]
    waiting: int

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks at work."""
        return tuple(rank for rank, _ in self.workers)

    @property
    def for_input(self) -> bool:
        """All of them wait for a person."""
        return all(doing.how == INPUT for _, doing in self.workers)

    def outlasts(self, seconds: float, patience: float) -> bool:
        """It has lasted for longer than a pause may; ``patience`` is five times the longest before."""
        return not self.for_input and seconds >= max(OWN_SECONDS, patience)

    @property
    def sentence(self) -> str:
        """``rank 0 is computing in evaluate (train.py:40); 2 ranks wait for it``."""
        at: dict[tuple[str, str], list[int]] = {}
        for rank, doing in self.workers:
            at.setdefault((doing.how, doing.place), []).append(rank)
        said = [f"{_who(ranks)} {_does(*what, len(ranks) > 1)}" for what, ranks in list(at.items())[:NAMED_PLACES]]
        if (rest := sum(map(len, list(at.values())[NAMED_PLACES:]))) > 0:
            said.append(f"{rest} more are at work")
        whom = "it" if len(self.workers) == 1 else "them"
        others = "1 rank waits" if self.waiting == 1 else f"{self.waiting} ranks wait"
        return f"{', '.join(said)}; {others} for {whom}"


def awaited(workers: Iterable[tuple[int, Doing]], waiting: int, before: Awaited | None) -> Awaited | None:
    """The same ranks as ``before`` keep their places, so that a sentence does not change with each line they run."""
    found = Awaited(tuple(sorted(workers)), waiting)
    if not found.workers or not waiting:
        return None
    return before if before is not None and before.ranks == found.ranks else found


def _who(ranks: list[int]) -> str:
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {to_ranges(ranks, NAMED_RANGES).replace(',', ', ')}"


def _does(how: str, place: str, many: bool) -> str:
    if how == INPUT:
        verb = "wait for input" if many else "waits for input"
    else:
        verb = f"{'are' if many else 'is'} {how or 'at work'}"
    return f"{verb} {place}" if place else verb
