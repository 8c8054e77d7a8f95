"""The conditions of an Experiment, in its status (``muster.api.status``)."""

from enum import StrEnum
from typing import Annotated

import msgspec

from muster.api.wire.kinds import Counter, Message, Reason, Time, Truth, member_of
from muster.api.wire.structs import Wire


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
    """One condition (Kubernetes meta/v1 Condition)."""

    type: Annotated[str, member_of(ConditionType), Wire("Name of the condition.", required=True)]
    status: Annotated[Truth, Wire("True, False or Unknown.", required=True)]
    reason: Annotated[Reason, Wire("Reason of the status, in one word.")]
    message: Annotated[Message, Wire("Reason of the status, in a sentence.", summary=True)]
    generation: Annotated[
        Counter, Wire("Generation of the spec this was decided on.", name="observedGeneration", summary=True)
    ]
    since: Annotated[
        Time,
        Wire("When status last changed.", name="lastTransitionTime", summary=True, stays="no clock counts from it"),
    ]
    reason_at: Annotated[
        Time | None,
        Wire(
            "When reason last changed, where status had changed before.",
            name="reasonTime",
            summary=True,
            stays="no clock counts from it",
        ),
    ] = None

    @property
    def reason_since(self) -> float:
        """Return the time since which it has this status for this reason."""
        return self.since if self.reason_at is None else self.reason_at

    @property
    def status_text(self) -> str:
        """Return ``True``, ``False`` or ``Unknown``."""
        return "Unknown" if self.status is None else str(self.status)
