"""The bounds of what a tenant costs the daemon: work on what it wrote is done in turns, and writes have a budget.

Between two turns the event loop does what else is due. A function that does such work is a generator. It yields about
every ``A_TURN`` items, which take a few milliseconds, and returns its result. A caller without an event loop to share
uses ``at_once``.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, ParamSpec, TypeVar

from muster.state.vocabulary.wall_time import WallTime

T = TypeVar("T")
P = ParamSpec("P")
Turns = Generator[None, None, T]

A_TURN: Final = 512
"""Reports, entries or ranks of one turn."""


def batches(items: Iterable[T], size: int = A_TURN) -> Iterator[tuple[T, ...]]:
    """Yield the items in their order, as many at a time as one turn has."""
    left = iter(items)
    while batch := tuple(islice(left, size)):
        yield batch


def finished(work: Turns[T]) -> T:
    """Return the result of the work, without a pause."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: T = end.value
            return result


def at_once(work: Callable[P, Turns[T]]) -> Callable[P, T]:
    """Return the function that does that work without a pause."""

    def whole(*args: P.args, **kwargs: P.kwargs) -> T:
        return finished(work(*args, **kwargs))

    whole.__name__, whole.__doc__ = work.__name__.removesuffix("_in_turns"), work.__doc__
    return whole


BURST = 6
"""Writes in a row."""
REFILL = 12.0
"""Seconds per further write: five a minute."""


@dataclass(slots=True)
class WriteBudget:
    """The budget of writes for words of one experiment: a token bucket, for the rule in ``state.summary.status``.

    ``spent`` is the wall second at which it would be full after the last write: one number is enough. Each write moves
    it ``REFILL`` seconds on; the bucket is empty while it is ``BURST`` refills ahead of now. A daemon that takes over
    starts with a full one.
    """

    spent: WallTime = 0.0

    def free_at(self, now: float) -> float:
        """Return when the next write may be made: now, or later."""
        return max(now, self._spent(now) - (BURST - 1) * REFILL)

    def spend(self, now: float) -> None:
        """Charge one write."""
        self.spent = self._spent(now) + REFILL

    def _spent(self, now: float) -> float:
        """Return ``spent``. A bucket emptier than empty is of a wall clock that was set back since: it is full."""
        return self.spent if now <= self.spent <= now + BURST * REFILL else now
