"""Who is charged for the end of a gang whose members gave up waiting: one row for each cause that kept it.

A restart for a cause of the *user* (a program that never calls the coordinator, an image that does not exist) uses one
unit of ``restartPolicy.backoffLimit``. One for a cause of the *platform* (no node, a queue, a node that is cut off, a
process that is frozen) is a disruption: it costs nothing of the budget, and disruptions in a row wait longer each time,
are called stuck, and end the experiment after ``maxDisruptions`` (``failures.disruptions``).

Causes without a row end a member by themselves (a crash, an eviction), or follow from another one.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from muster.state.facts.diagnosis.cause import MissingCause


class Charge(NamedTuple):
    """``reason`` is that of the cause in the status and in metrics."""

    reason: str
    platform: bool


RANKS_MISSING: Final = "RanksMissing"
NOT_STARTED: Final = "RanksNotStarted"
COORDINATOR_LOST: Final = "CoordinatorLost"
NODE_NOT_READY: Final = "NodeNotReady"

CHARGES: Final[Mapping[MissingCause, Charge]] = MappingProxyType(
    {
        MissingCause.REFUSED: Charge("Refused", platform=True),
        MissingCause.QUOTA_EXCEEDED: Charge("Refused", platform=True),
        MissingCause.ADMISSION_DENIED: Charge("Refused", platform=True),
        MissingCause.RIGHTS_MISSING: Charge("Refused", platform=True),
        MissingCause.NODE_NOT_READY: Charge(NODE_NOT_READY, platform=True),
        MissingCause.UNKNOWN: Charge(NODE_NOT_READY, platform=True),
        MissingCause.UNSCHEDULABLE: Charge("Unschedulable", platform=True),
        MissingCause.QUEUED: Charge("Queued", platform=True),
        MissingCause.COORDINATOR_FROZEN: Charge(COORDINATOR_LOST, platform=True),
        MissingCause.COORDINATOR_UNREACHABLE: Charge(COORDINATOR_LOST, platform=True),
        MissingCause.SCHEDULING: Charge(NOT_STARTED, platform=True),
        MissingCause.SANDBOX: Charge(NOT_STARTED, platform=True),
        MissingCause.STARTING: Charge(NOT_STARTED, platform=True),
        MissingCause.NOT_CREATED: Charge(NOT_STARTED, platform=True),
        MissingCause.IMAGE_PULL: Charge("ImagePull", platform=False),
        MissingCause.CONTAINER_CANNOT_START: Charge("ContainerCannotStart", platform=False),
        MissingCause.INIT_CONTAINER_FAILS: Charge("ContainerCannotStart", platform=False),
        MissingCause.PROCESS_COUNT: Charge("ProcessCountMismatch", platform=False),
        MissingCause.COORDINATOR_NOT_SERVING: Charge("CoordinatorNotServing", platform=False),
        MissingCause.DASHBOARD_NOT_SERVING: Charge("CoordinatorNotServing", platform=False),
        MissingCause.WRONG_PROTOCOL: Charge("CoordinatorNotServing", platform=False),
        MissingCause.HUNG: Charge("Hung", platform=False),
        MissingCause.LEFT: Charge("RanksEnded", platform=False),
        MissingCause.ENDED: Charge("RanksEnded", platform=False),
        MissingCause.INIT_CONTAINER: Charge(RANKS_MISSING, platform=False),
        MissingCause.SIDECAR_FAILS: Charge(RANKS_MISSING, platform=False),
        MissingCause.RESTARTED_IN_PLACE: Charge(RANKS_MISSING, platform=False),
        MissingCause.GHOST: Charge(RANKS_MISSING, platform=False),
        MissingCause.NOT_ARRIVED: Charge(RANKS_MISSING, platform=False),
    }
)

TO_THE_PLATFORM: Final = tuple(dict.fromkeys(each.reason for each in CHARGES.values() if each.platform))
TO_THE_USER: Final = tuple(dict.fromkeys(each.reason for each in CHARGES.values() if not each.platform))
