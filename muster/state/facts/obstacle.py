"""An obstacle: a fact that keeps a member from starting or working (``gathering.obstacles``)."""

from enum import Enum

import msgspec


class Kind(Enum):
    """The kind of an obstacle, which selects its sentence (``summary.obstacles``)."""

    GATED = "gated"
    CUT_OFF = "cut off"
    HELD = "held"
    """Containers cannot be made."""
    UNPLACED = "unplaced"
    SLOW = "slow"
    OUTLIVED = "outlived"
    """All programs have ended with 0, and other containers keep some of the pods running."""
    ENDED = "ended"
    UNMET = "unmet"
    UNRUN = "unrun"
    """Nothing runs objects of the kind."""
    FAILED = "failed"
    GONE = "gone"
    """The coordinator served, and its pod, or its program, is gone, going, or new."""
    REPORTED = "reported"
    """The controller has reported a failure, without a conclusion."""
    RESTARTED = "restarted"
    """A container was started again in its pod, and the member is not ready since."""
    ALL_DONE = "all done"
    """All members have succeeded, and the object does not report it."""
    PROGRAM_DONE = "program done"
    """The coordinator reports that the program has ended, and the object does not."""
    WITHOUT_POD = "without-pod"
    """The controller has not created all pods."""


class Obstacle(msgspec.Struct, frozen=True):
    """A fact that keeps a member from working."""

    kind: Kind
    reason: str
    patience: float
    """Seconds after which it counts as stuck."""
    rank: int = -1
    """The member that its sentence names first; -1: none."""
    begins: float = 0.0
    """The wall second before which it does not count."""
    dated: float = 0.0
    """The wall second since which it has existed, if that is known without having seen it."""
