"""How long to stay away after a failure.

The values are those of client-go's reflector (tools/cache/reflector.go): 0.8 s, doubled up to 30 s, forgotten after two
quiet minutes. Spread over the upper half of the delay, so that the daemons of a restarted cluster do not all come back
at once.
"""

from dataclasses import dataclass, field
from random import Random


@dataclass(slots=True)
class Backoff:
    """Delays in seconds; ``random`` spreads them."""

    random: Random
    first: float = 0.8
    longest: float = 30.0
    reset_after: float = 120.0
    _next: float = field(default=0.0, init=False)
    _failed_at: float = field(default=float("-inf"), init=False)

    def delay(self, now: float) -> float:
        """The wait after a failure at ``now`` (any monotonic clock), never more than ``longest``."""
        quiet = now - self._failed_at > self.reset_after
        base = self.first if quiet or not self._next else self._next
        self._next = min(base * 2, self.longest)
        self._failed_at = now
        return base * self.random.uniform(0.5, 1.0)
