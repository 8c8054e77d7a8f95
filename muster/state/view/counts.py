"""Counts of pods: how many there are of a gang, a group or a job, and how far they have come."""

from dataclasses import dataclass


@dataclass(slots=True)
class Counts:
    """How many pods there are, and how far they have come."""

    pods: int = 0
    working: int = 0
    """Live, and the member is not done: a sidecar that runs on after ``main`` takes no place of another member."""
    scheduled: int = 0
    started: int = 0
    ready: int = 0
    """Working, ready and not terminating."""
    succeeded: int = 0

    def shift(self, step: int, working: int, scheduled: int, started: int, ready: int, succeeded: int) -> None:
        """Count one pod in (``step`` 1) or out (-1); the flags are 0 or 1."""
        self.pods += step
        self.working += step * working
        self.scheduled += step * scheduled
        self.started += step * started
        self.ready += step * ready
        self.succeeded += step * succeeded


NO_PODS = Counts()
"""The counts of a group or job without pods. Never changed."""
