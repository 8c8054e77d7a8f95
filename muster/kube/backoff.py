"""How long to wait before the next attempt: twice as long after each failure, up to a limit.

The one back-off of the project, for watches, log streams and work queues; each states its own times. With ``random``
a delay is spread over its upper half, so that the clients of a restarted API server do not all come back at once.
"""

from dataclasses import dataclass, field
from math import inf
from random import Random


@dataclass(slots=True)
class Backoff:
    """Delays in seconds, from ``first`` to ``longest``.

    ``reset_after`` seconds without a failure start it again from ``first``, as ``reset`` does at once.
    """

    first: float
    longest: float
    random: Random | None = None
    reset_after: float = inf
    _next: float = field(default=0.0, init=False)
    _failed_at: float = field(default=-inf, init=False)

    def delay(self, now: float = 0.0) -> float:
        """Return the wait after a failure at ``now`` (any monotonic clock), never more than ``longest``."""
        quiet = now - self._failed_at > self.reset_after
        base = self.first if quiet or not self._next else self._next
        self._next = min(base * 2, self.longest)
        self._failed_at = now
        return base * self.random.uniform(0.5, 1.0) if self.random is not None else base

    def reset(self) -> None:
        """Start again from ``first``."""
        self._next = 0.0
