"""Why an epoch ended, and why a container was started again, in the status (``muster.api.status``)."""

from typing import Annotated

import msgspec

from muster.api.wire.kinds import Count, Counter, Flag, Integer, Mark, Message, Name, Rank, Reason, Signal, Time
from muster.api.wire.structs import Wire


class Cause(msgspec.Struct, frozen=True, gc=False):
    """The first failure of an epoch: why it ended."""

    epoch: Annotated[Counter, Wire("The epoch that ended.")]
    reason: Annotated[Reason, Wire("The failure in one word.")]
    message: Annotated[Message, Wire("Details of it: its exception, or the message of the kubelet or scheduler.")] = ""
    at: Annotated[Time, Wire("When the container ended.", name="time", stays="it is over")] = 0.0
    pod: Annotated[Name, Wire("Pod of the first container that failed.")] = ""
    uid: Annotated[Name, Wire("Uid of that pod.")] = ""
    group: Annotated[Name, Wire("Group of that pod.")] = ""
    rank: Annotated[Rank, Wire("Rank of that pod.")] = -1
    container: Annotated[Name, Wire("The container that failed.")] = ""
    node: Annotated[Name, Wire("Node of that pod.")] = ""
    exit_code: Annotated[Integer | None, Wire("Exit code of the container.")] = None
    signal: Annotated[Signal, Wire("Signal that ended the container.")] = 0
    disruption: Annotated[
        Flag, Wire("Whether the platform ended the pod (preemption, eviction, node loss, deletion).")
    ] = False
    """Such an end is not charged to restartPolicy.backoffLimit."""
    place: Annotated[Name, Wire("Where there are several groups: the member by its group, as worker-1.")] = ""
    last_line: Annotated[
        Message, Wire("The last line that the container printed, if its log does not show why it ended.")
    ] = ""
    evidence: Annotated[
        Message,
        Wire("Where the member blocked the gang and did not fail itself: how the first of those that gave up ended."),
    ] = ""
    known_for: Annotated[
        Count, Wire("Where it blocked the gang: for how many seconds that was known.", name="knownForSeconds")
    ] = 0
    device: Annotated[
        Message,
        Wire("Device of the pod that was reported as Unhealthy (status.containerStatuses.allocatedResourcesStatus)."),
    ] = ""
    final: Annotated[Mark, Wire("Whether the run ended because of it: then the message of the end has it.")] = False


class ContainerRestarts(msgspec.Struct, frozen=True, gc=False):
    """Restarts of containers in their pods, which the kubelet makes."""

    count: Annotated[Counter, Wire("Restarts that were seen in the life of the run.")] = 0
    shown: Annotated[Counter, Wire("Those of them that the pods of the present epoch show.")] = 0
    """A pod that goes takes its count along, and none of the restarts."""
    latest_at: Annotated[
        Time, Wire("When the last container that was started again had ended.", name="latestTime", stays="it is over")
    ] = 0.0
    times: Annotated[Count, Wire("Restarts of the pod that the cause names.")] = 0
    others: Annotated[Count, Wire("Restarts of other members that followed within a minute.")] = 0
    cause: Annotated[Cause | None, Wire("How the container had ended that was the first of the last ones.")] = None
