"""The record: what is known to have happened, as it is persisted in an Experiment's status.

It is all that survives the daemon. ``facts`` is the part that must never be lost and is written the moment it
changes; the rest is a picture for people (counts, messages) and is refreshed at growing intervals, so that a gang
of 512 does not cost 512 status writes.

Its classes are msgspec structs: a decision copies and compares them more than anything else, and these do it faster.

Times are wall seconds since 1970; None means "not yet in this epoch" (``started_at``: in this life).
"""

from enum import StrEnum

import msgspec


class Phase(StrEnum):
    """A summary for the eye; conditions are the truth."""

    SUSPENDED = "Suspended"
    PENDING = "Pending"
    ASSEMBLING = "Assembling"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


FINISHED = frozenset({Phase.SUCCEEDED, Phase.FAILED})


class ConditionType(StrEnum):
    """The conditions of an Experiment; each can be waited for with ``kubectl wait``."""

    SUSPENDED = "Suspended"
    SCHEDULED = "Scheduled"
    COORDINATOR_READY = "CoordinatorReady"
    ASSEMBLED = "Assembled"
    RESTARTING = "Restarting"
    STUCK = "Stuck"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    FINISHED = "Finished"


class Condition(msgspec.Struct, frozen=True, gc=False):
    """One condition; ``since`` is when ``status`` last changed."""

    type: ConditionType
    status: bool
    reason: str
    message: str
    generation: int
    since: float


class Cause(msgspec.Struct, frozen=True, gc=False):
    """Why an epoch ended: the first failing container, or what was done to a member."""

    epoch: int
    reason: str
    message: str
    at: float
    pod: str = ""
    uid: str = ""
    group: str = ""
    rank: int = -1
    container: str = ""
    node: str = ""
    exit_code: int | None = None
    signal: int = 0
    disruption: bool = False
    """Done to the gang rather than by it (preemption, eviction, node loss, a deleted pod): costs no restart."""


class Line(msgspec.Struct, frozen=True, gc=False):
    """One line of the story; the same line becomes a Kubernetes Event once the record that holds it is persisted."""

    at: float
    epoch: int
    reason: str
    message: str
    warning: bool = False


class RollCall(msgspec.Struct, frozen=True, gc=False):
    """Who has arrived, as last persisted. ``missing`` holds the first 64 missing ranks."""

    expected: int
    arrived: int
    missing: tuple[int, ...] = ()


STORY_LINES = 64
"""How many lines a record keeps: the first eight and the latest."""


class Record(msgspec.Struct, frozen=True, gc=False):
    """See the module's docstring. ``restarts`` counts against the limit, ``disruptions`` do not."""

    generation: int
    phase: Phase
    phase_at: float
    reason: str = ""
    message: str = ""
    epoch: int = 0
    restarts: int = 0
    disruptions: int = 0
    started_at: float | None = None
    epoch_at: float | None = None
    scheduled_at: float | None = None
    assembling_at: float | None = None
    assembled_at: float | None = None
    ending_at: float | None = None
    """Since when pods that must go are awaited (the terminating clock)."""
    resume_at: float | None = None
    finished_at: float | None = None
    updated_at: float = 0.0
    deadline: float | None = None
    ready: int = 0
    size: int = 0
    coordinator: str = ""
    roll: RollCall | None = None
    cause: Cause | None = None
    conditions: tuple[Condition, ...] = ()
    story: tuple[Line, ...] = ()

    @property
    def finished(self) -> bool:
        """Succeeded or failed: nothing follows but cleaning up."""
        return self.phase in FINISHED

    @property
    def gathering(self) -> bool:
        """The gang is wanted now: its members start, gather or work."""
        return self.phase in (Phase.PENDING, Phase.ASSEMBLING, Phase.RUNNING)

    def condition(self, kind: ConditionType) -> Condition | None:
        """The condition of that type, or None while it was never set."""
        for condition in self.conditions:  # (asked six times in each decision: a generator costs twice as much)
            if condition.type is kind:
                return condition
        return None

    @property
    def facts(self) -> tuple[object, ...]:
        """What must be persisted at once when it changes."""
        return (
            self.generation,
            self.phase,
            self.reason,
            self.epoch,
            self.restarts,
            self.disruptions,
            self.started_at,
            self.epoch_at,
            self.scheduled_at,
            self.assembling_at,
            self.assembled_at,
            self.ending_at,
            self.resume_at,
            self.finished_at,
            self.deadline,
            self.coordinator,
            self.cause,
            tuple((c.type, c.status, c.reason) for c in self.conditions),
            self.story,
        )
