"""An obstacle: what keeps a member from starting or working (``policies.obstacles``)."""

from enum import Enum

import msgspec


class Kind(Enum):
    """What is in the way, and so which sentence says it (``summary.obstacles``)."""

    GATED = "gated"
    CUT_OFF = "cut off"
    HELD = "held"
    """Containers cannot be made."""
    UNPLACED = "unplaced"
    SLOW = "slow"
    OUTLIVED = "outlived"
    """All programs have ended with 0, and another container keeps some of the pods."""
    ENDED = "ended"
    UNMET = "unmet"
    UNRUN = "unrun"
    """Nothing runs objects of the kind."""
    FAILED = "failed"
    GONE = "gone"
    """The pod of the coordinator, or its program."""
    REPORTED = "reported"
    """A failure, by the controller."""
    RESTARTED = "restarted"
    """A container, in its pod."""
    ALL_DONE = "all done"
    """All members have succeeded, and the object does not say so."""
    PROGRAM_DONE = "program done"
    """The coordinator says so, and the object does not."""
    WITHOUT_POD = "without-pod"
    """Its controller has not made all pods."""


class Obstacle(msgspec.Struct, frozen=True):
    """What keeps a member from going on."""

    kind: Kind
    reason: str
    patience: float
    """Seconds after which it counts as stuck."""
    rank: int = -1
    """The member that its sentence names first; -1: none."""
    begins: float = 0.0
    """The wall second before which it does not count."""
    dated: float = 0.0
    """The wall second since which it has been there, where that is known without having seen it."""
