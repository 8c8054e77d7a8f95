"""Back-off: how long a restart waits.

Counted restarts wait ``initial * factor**(k - 1)``, at most ``max``. Disruptions in a row wait from the second on.
``jitter`` shortens each wait by a share of itself that is drawn from uid, epoch and attempt, so that the gangs of a
broken node do not come back together, and a decision that is taken again gives the same time.
"""

from hashlib import sha256

from muster.state.vocabulary.plan import Plan


def counted(plan: Plan, number: int, epoch: int, attempt: int = 0) -> float:
    """Return the seconds before restart ``number`` (from 1), which begins that epoch or attempt."""
    return _shortened(plan, plan.restarts.backoff.delay(number), epoch, attempt)


def disrupted(plan: Plan, row: int, epoch: int, attempt: int = 0) -> float:
    """Return the seconds after the ``row``-th disruption in a row: none after the first, then as if counted."""
    return counted(plan, row - 1, epoch, attempt) if row > 1 else 0.0


def _shortened(plan: Plan, seconds: float, epoch: int, attempt: int) -> float:
    if not plan.restarts.jitter:
        return seconds
    drawn = int.from_bytes(sha256(f"{plan.uid}/{epoch}/{attempt}/wait".encode()).digest()[:4], "big") / 2**32
    return seconds * (1.0 - plan.restarts.jitter * drawn)
