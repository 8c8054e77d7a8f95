"""The record: the status of an Experiment as the daemon decides with it.

Every field is declared in ``muster.api.status``; here is what decisions ask of them.
"""

from muster.api.status import (
    STORY_LINES,
    Blocked,
    Cause,
    Condition,
    ConditionType,
    ExperimentStatus,
    Phase,
    RestartReason,
    RollCall,
    StoryLine,
)
from muster.api.wire.structs import facts_of

__all__ = [
    "FINISHED",
    "STORY_LINES",
    "Blocked",
    "Cause",
    "Condition",
    "ConditionType",
    "Phase",
    "Record",
    "RestartReason",
    "RollCall",
    "StoryLine",
]

FINISHED = frozenset({Phase.SUCCEEDED, Phase.FAILED})

_facts = facts_of(ExperimentStatus)


class Record(ExperimentStatus, frozen=True, gc=False, kw_only=True):
    """A status whose phase the daemon knows. ``restarts`` counts against the limit, ``disruptions`` do not."""

    phase: Phase

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
        return _facts(self)
