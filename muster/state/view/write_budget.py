"""The budget of writes for words of one experiment: a token bucket, in the memory of the daemon.

``state.summary.status`` has the rule that it serves. A daemon that takes over starts with a full bucket.
"""

from dataclasses import dataclass

from muster.state.vocabulary.wall_time import WallTime

BURST = 6
"""Writes in a row."""
REFILL = 12.0
"""Seconds per further write: five a minute."""


@dataclass(slots=True)
class WriteBudget:
    """A bucket. ``spent`` is the wall second at which it would be full after the last write: one number is enough.

    Each write moves it ``REFILL`` seconds on; the bucket is empty while it is ``BURST`` refills ahead of now.
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
