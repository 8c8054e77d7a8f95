"""The closed list of causes for which a member has not arrived, or is not at work.

The order is that of a sentence: what is most definite and needs a person first comes first, and what is only a
consequence of another cause, or a normal step of a start, comes last.
"""

from enum import StrEnum


class MissingCause(StrEnum):
    """Why a rank has not arrived, or is lost to its gang. Each member has one cause at a time."""

    REFUSED = "Refused"
    """The API server refuses what creating its pod needs."""
    QUOTA_EXCEEDED = "QuotaExceeded"
    """The same, because a ResourceQuota is used up."""
    ADMISSION_DENIED = "AdmissionDenied"
    """The same, because a webhook or a policy does not admit the pod, or does not answer."""
    RIGHTS_MISSING = "RightsMissing"
    """The same, because Muster has no right to do it."""
    NAME_TAKEN = "NameTaken"
    """An object of another owner has the name of its pod, or of the Service."""
    NODE_NOT_READY = "NodeNotReady"
    """It was at work on a node that is NotReady."""
    IMAGE_PULL = "ImagePull"
    """Its image cannot be pulled."""
    CONTAINER_CANNOT_START = "ContainerCannotStart"
    """Its container cannot be made, or is started again and again."""
    INIT_CONTAINER_FAILS = "InitContainerFails"
    """An init container or a sidecar of its pod fails, or cannot start, so that the program does not start."""
    UNSCHEDULABLE = "Unschedulable"
    """No node fits its pod."""
    OOM_KILLED = "OOMKilled"
    """Its program was killed because it used more memory than it may."""
    CRASHED = "Crashed"
    """Its program, or its pod, has failed."""
    NODE_LOST = "NodeLost"
    """Its node was lost, and its pod with it."""
    EVICTED = "Evicted"
    """The platform takes its pod away: preemption, eviction, a node that shuts down."""
    LOST = "Lost"
    """It had a pod in this epoch, and the pod is gone."""
    RESTARTED_IN_PLACE = "RestartedInPlace"
    """Its container was started again in its pod: what it registered before does not hold any more."""
    PROCESS_COUNT = "ProcessCount"
    """The coordinator waits for another number of processes than the gang has."""
    WRONG_PROTOCOL = "WrongProtocol"
    """Something else than a coordinator that can be asked answers at the coordinator's port."""
    COORDINATOR_FROZEN = "CoordinatorFrozen"
    """The coordinator's port accepts connections, and nothing answers: its process is stopped, or hangs."""
    DASHBOARD_NOT_SERVING = "DashboardNotServing"
    """The GCS of a Ray head serves, and its dashboard does not: jobs cannot be submitted, nor members counted."""
    COORDINATOR_UNREACHABLE = "CoordinatorUnreachable"
    """No connection to the coordinator within the deadline: the network, or its node."""
    COORDINATOR_NOT_SERVING = "CoordinatorNotServing"
    """The coordinator's program runs, and its port is closed."""
    HEARTBEAT_LOST = "HeartbeatLost"
    """The coordinator hears nothing of it any more, though its pod runs."""
    GIVEN_UP = "GivenUp"
    """The coordinator has given it up for another reason."""
    HUNG = "Hung"
    """It is connected and makes no progress."""
    SIDECAR_FAILS = "SidecarFails"
    """Its program runs beside a container of its pod that fails or cannot start, so that the pod is not ready."""
    GHOST = "Ghost"
    """Its pod is ready, and the coordinator that serves now does not know it."""
    LEFT = "Left"
    """It has left the coordinator in good order, and others have not."""
    ENDED = "Ended"
    """Its program has ended with exit code 0, without having registered or while others wait for it."""
    UNKNOWN = "Unknown"
    """The kubelet has lost sight of its pod."""
    NOT_ARRIVED = "NotArrived"
    """Its program runs, and has not registered with the coordinator; where none can be asked, its pod is not ready."""
    TERMINATING = "Terminating"
    """Its pod is being deleted."""
    QUEUED = "Queued"
    """A queue has not admitted the experiment, or a scheduling gate is on its pod."""
    HELD_BACK = "HeldBack"
    """Its pod waits for a gate of its group, for its turn, for a back-off, or for pods of an older epoch to end."""
    INIT_CONTAINER = "InitContainer"
    """An init container of its pod runs, and the program starts when that has ended."""
    SANDBOX = "Sandbox"
    """Its pod is on a node, and has no volumes or no network yet."""
    STARTING = "Starting"
    """Its pod is on a node; the program does not run yet."""
    SCHEDULING = "Scheduling"
    """Its pod has no node yet, and the scheduler has said nothing."""
    NOT_CREATED = "NotCreated"
    """It has no pod yet, and nothing is known that keeps Muster from creating it."""
    AWAITS_COORDINATOR = "AwaitsCoordinator"
    """Its program runs and waits for a coordinator that does not serve."""


ORDER = {cause: place for place, cause in enumerate(MissingCause)}
"""The place of each cause in a sentence."""

AFTER_ARRIVAL = frozenset(
    (
        MissingCause.PROCESS_COUNT,
        MissingCause.HEARTBEAT_LOST,
        MissingCause.GIVEN_UP,
        MissingCause.HUNG,
        MissingCause.LEFT,
    )
)
"""Causes of members that have arrived: they are not missing from the roll, and so in no metric of missing ranks."""

COUNTED_AS = {
    MissingCause.QUOTA_EXCEEDED: MissingCause.REFUSED,
    MissingCause.ADMISSION_DENIED: MissingCause.REFUSED,
    MissingCause.RIGHTS_MISSING: MissingCause.REFUSED,
    MissingCause.NAME_TAKEN: MissingCause.REFUSED,
    MissingCause.INIT_CONTAINER_FAILS: MissingCause.CONTAINER_CANNOT_START,
    MissingCause.INIT_CONTAINER: MissingCause.STARTING,
    MissingCause.OOM_KILLED: MissingCause.CRASHED,
    MissingCause.EVICTED: MissingCause.TERMINATING,
    MissingCause.NODE_LOST: MissingCause.TERMINATING,
    MissingCause.SIDECAR_FAILS: MissingCause.NOT_ARRIVED,
    MissingCause.COORDINATOR_NOT_SERVING: MissingCause.NOT_ARRIVED,
    MissingCause.WRONG_PROTOCOL: MissingCause.NOT_ARRIVED,
    MissingCause.COORDINATOR_FROZEN: MissingCause.NOT_ARRIVED,
    MissingCause.DASHBOARD_NOT_SERVING: MissingCause.NOT_ARRIVED,
    MissingCause.COORDINATOR_UNREACHABLE: MissingCause.NOT_ARRIVED,
    MissingCause.AWAITS_COORDINATOR: MissingCause.NOT_ARRIVED,
    MissingCause.RESTARTED_IN_PLACE: MissingCause.NOT_ARRIVED,
    MissingCause.GHOST: MissingCause.NOT_ARRIVED,
    MissingCause.SANDBOX: MissingCause.STARTING,
}
"""Causes that the metric counts as a wider one: each cause of it is a series of every experiment."""

COUNTED = tuple(cause for cause in MissingCause if cause not in AFTER_ARRIVAL and cause not in COUNTED_AS)
"""The causes of the metric of missing ranks."""


LOOKS_WELL = frozenset(
    {
        MissingCause.COORDINATOR_FROZEN,
        MissingCause.COORDINATOR_UNREACHABLE,
        MissingCause.HEARTBEAT_LOST,
        MissingCause.GIVEN_UP,
        MissingCause.HUNG,
    }
)
"""Causes of members whose pods are ready all the same."""
