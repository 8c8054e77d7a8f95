"""Why an epoch ended, why a container was started again, and the obstacles of a gang, in the status.

They are fields of ``muster.api.status``.
"""

from typing import Annotated

import msgspec

from muster.api.wire.kinds import (
    Count,
    Counter,
    Flag,
    Integer,
    Mark,
    Message,
    Name,
    Rank,
    RankRanges,
    Reason,
    Signal,
    Time,
)
from muster.api.wire.structs import Wire


class Blocked(msgspec.Struct, frozen=True, gc=False):
    """Obstacle of a member of this epoch that starts or works."""

    reason: Annotated[Reason, Wire("The obstacle in one word, such as ImagePullBackOff.")]
    since: Annotated[Time, Wire("Since when there is an obstacle of this kind.", name="time", moves=True)]
    gone_at: Annotated[
        Time | None, Wire("Since when it is not seen, while it may come back.", name="goneTime", moves=True)
    ] = None


class Stuck(msgspec.Struct, frozen=True, gc=False):
    """Why the gang is stuck, and by which members: what its end is charged to where the others give up."""

    cause: Annotated[
        Reason, Wire("Why these members block the gang, in one word of docs/reasons.md; empty where none does.")
    ]
    evidence: Annotated[Message, Wire("What showed it.")]
    ranks: Annotated[RankRanges, Wire("Their ranks, such as 2 or 8-15; empty where it is the whole gang.")]
    since: Annotated[Time, Wire("Since when it is known.", name="time", moves=True)]
    until: Annotated[
        Time | None, Wire("When it was resolved, while the ranks have not arrived.", name="untilTime", moves=True)
    ] = None
    reason: Annotated[Reason, Wire("Reason of the condition Stuck.")] = ""
    subject: Annotated[Name, Wire("The node, pod or queue that it is about, where there is one.")] = ""


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
