"""Why an epoch ended, why a container was started again, the obstacles of a gang, and the evidence of earlier epochs.

They are fields of ``muster.api.status``. Evidence is the facts of an epoch that ended without success: the pods that
showed it are deleted with the epoch, so nothing of it can be read again. Its size is bounded: an epoch takes about
2 KB, and 32 KB whatever its programs and the cluster report: 64 KB where JSON escapes all of it.
"""

from typing import Annotated, Final

import msgspec

from muster.api.gang import RollCall
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
    text,
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
    ranks: Annotated[
        RankRanges, Wire("Where several members blocked the gang: their ranks. Rank and pod are those of the lowest.")
    ] = ""
    before: Annotated[Message, Wire("What blocked the gang before this failure.")] = ""


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


MAX_EPOCHS: Final = 3
"""Epochs whose evidence a status holds, the newest."""
MAX_FINDINGS: Final = 6
MAX_STACKS: Final = 8
"""Rows of ranks with equal stacks: a look reads as many stacks (``muster.watchers.probes.jax.places``)."""
SENTENCE: Final = 512
RANGES: Final = 200
"""Characters of the ranges of ranks of one row."""

Sentence = Annotated[str, text(SENTENCE)]


class FindingThen(msgspec.Struct, frozen=True, gc=False):
    """Members that one cause kept when the epoch ended."""

    cause: Annotated[Reason, Wire("The cause, in one word of docs/reasons.md.", required=True)]
    sentence: Annotated[Sentence, Wire("Which members it blocked, and how.")]
    evidence: Annotated[Message, Wire("What showed it.")] = ""
    ranks: Annotated[RankRanges, Wire("Their ranks, the lowest of them where they are many.")] = ""
    count: Annotated[Counter, Wire("How many members they were.")] = 0
    node: Annotated[Name, Wire("Their node, where the node was the cause.")] = ""


class StackThen(msgspec.Struct, frozen=True, gc=False):
    """Ranks with equal stacks, as their own processes wrote them, or with none for one reason."""

    rank: Annotated[Counter, Wire("The lowest of the ranks.", required=True)]
    calls: Annotated[
        Message,
        Wire(
            "Their calls, the innermost first: function, file and line. Of ranks without a stack why, and where they "
            "were seen last. Empty in a row for the ranks of all that are not listed."
        ),
    ]
    ranks: Annotated[RankRanges, Wire("The ranks, the lowest of them where they are many.")] = ""
    count: Annotated[Counter, Wire("How many ranks they are.")] = 0


class EpochEvidence(msgspec.Struct, frozen=True, gc=False):
    """An epoch that ended without success, as it was before its pods were stopped."""

    epoch: Annotated[Counter, Wire("The epoch.", required=True)]
    at: Annotated[Time, Wire("When it was ended, and this was seen.", name="time", stays="it is over")]
    phase: Annotated[Reason, Wire("The phase that it had.")]
    next: Annotated[Reason, Wire("The phase that followed: Restarting, Failed, Queued or Suspended.")]
    reason: Annotated[Reason, Wire("Why it was ended, in one word.")] = ""
    how: Annotated[Message, Wire("The same in a sentence.")] = ""
    began_at: Annotated[Time | None, Wire("When it had begun.", name="beganTime", stays="it is over")] = None
    waited_for: Annotated[Message, Wire("What it waited for, in a sentence.")] = ""
    stuck: Annotated[Reason, Wire("Reason of its condition Stuck, where that was true.")] = ""
    stuck_at: Annotated[
        Time | None, Wire("Since when it was true for that reason.", name="stuckTime", stays="it is over")
    ] = None
    stuck_by: Annotated[Message, Wire("The sentence of that condition.")] = ""
    known: Annotated[Message, Wire("Which members were known to block the gang while it was Stuck.")] = ""
    roll: Annotated[RollCall | None, Wire("The last roll call.")] = None
    steps: Annotated[Sentence, Wire("How far the programs had come, where they report steps.")] = ""
    collectives: Annotated[Message, Wire("Who had not entered which collective, where processes publish them.")] = ""
    places: Annotated[Message, Wire("Where the ranks were, if their processes report it.")] = ""
    findings: Annotated[
        tuple[FindingThen, ...],
        Wire("Why members were missing or not at work, the most decisive cause first.", most=MAX_FINDINGS, sparse=True),
    ] = ()
    stacks: Annotated[
        tuple[StackThen, ...],
        Wire(
            "Stacks of all ranks, grouped, the rarest first; only where some ranks were stuck.",
            most=MAX_STACKS,
            sparse=True,
        ),
    ] = ()
