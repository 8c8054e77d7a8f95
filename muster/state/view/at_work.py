"""Processes at work while others wait for them: they compute, read or write, as far as they show it themselves.

A pause of one rank (an evaluation, a checkpoint) looks like a hang to all the others: it is none as long as the rank is
seen at work, and no longer than ``OWN_SECONDS``, or five times the longest such pause before. One that waits for a
person to type may wait for any time.
"""

from collections.abc import Iterable
from math import inf
from typing import NamedTuple

from muster.api.places import INPUT

WORKS = 30.0
"""Seconds for which a process is at work after it was last seen to be."""
OWN_SECONDS = 600.0
"""Seconds for which others may wait for one that is at work, in the first such pause."""


class Doing(NamedTuple):
    """The work of one process. It is a claim of the program."""

    place: str = ""
    """``in evaluate (train.py:40)``."""
    quiet: float = inf
    """Seconds since it was last seen at work, as of its report."""
    how: str = ""
    """The last work: one of the words of ``muster.api.places``."""
    alone: bool = False
    """True if it waits, and for no other rank."""
    meets: bool = False
    """True if it is in a call of torch.distributed, in which a program waits for other ranks."""

    @property
    def works(self) -> bool:
        """True if it is at work."""
        return self.quiet < WORKS


class Awaited(NamedTuple):
    """Ranks at work, each with its work, and the number of others that wait for them."""

    workers: tuple[tuple[int, Doing], ...]
    waiting: int

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks at work."""
        return tuple(rank for rank, _ in self.workers)

    @property
    def for_input(self) -> bool:
        """True if all of them wait for a person."""
        return all(doing.how == INPUT for _, doing in self.workers)

    def outlasts(self, seconds: float, patience: float) -> bool:
        """Return True if it has lasted longer than a pause may; ``patience`` is five times the longest before."""
        return not self.for_input and seconds >= max(OWN_SECONDS, patience)


def awaited(workers: Iterable[tuple[int, Doing]], waiting: int, before: Awaited | None) -> Awaited | None:
    """Return the ranks at work; the same as ``before`` keep their places, so that the sentence stays the same."""
    found = Awaited(tuple(sorted(workers)), waiting)
    if not found.workers or not waiting:
        return None
    return before if before is not None and before.ranks == found.ranks else found
