"""Facts of the gang in a status: the last roll call, its steps, the devices that it holds, its sizes, and its restarts.

Restarts are counted by reason and by job. Beside them are the attempts of ranks, the uses of rules, the nodes with
failures, and the failure that recurs.
"""

from typing import Annotated, Final

import msgspec

from muster.api.values.durations import often
from muster.api.wire.kinds import Count, Counter, Flag, Message, Name, RankRanges, Reason, Time
from muster.api.wire.structs import Life, Wire

MAX_MEMBERS: Final = 100_000
"""Members of an experiment."""
MAX_MISSING: Final = 64
MAX_GROUPS: Final = 1_024
"""Groups whose sizes a status holds: as many replicated jobs a JobSet may have."""


class RollCall(msgspec.Struct, frozen=True, gc=False):
    """The last roll call of this epoch."""

    expected: Annotated[Counter, Wire("Ranks that must arrive.")]
    arrived: Annotated[Counter, Wire("Ranks that have arrived.")]
    missing: Annotated[
        tuple[Counter, ...], Wire(f"The lowest missing ranks, at most {MAX_MISSING}.", most=MAX_MISSING)
    ] = ()


class Steps(msgspec.Struct, frozen=True, gc=False):
    """Progress of the programs that report steps. A program's report is a claim."""

    epoch: Annotated[Counter, Wire("Epoch of the gang that reported them.")]
    step: Annotated[Counter, Wire("The highest step that at least half of the reporting ranks have reached.")]
    per_second: Annotated[Reason, Wire("Steps per second, such as 9.81; absent before two steps were reported.")] = ""
    reporting: Annotated[Counter, Wire("Ranks that report.")] = 0
    hung_after: Annotated[
        Counter,
        Wire(
            "Seconds without a report after which the gang hangs, where its programs send them to musterd; 0 where "
            "musterd reads them from the gang's own store.",
        ),
    ] = 0
    at: Annotated[
        Time,
        Wire("When they were read; while the gang works that may be a minute ago.", name="time", stays="it is over"),
    ] = 0.0
    restarts: Annotated[Count, Wire("The most restarts of a rank's processes inside their pod, by torchrun.")] = 0


def of_restarts_inside(times: int) -> str:
    """Return ``processes restarted once by torchrun``."""
    return f"processes restarted {often(times)} by torchrun"


class HeldDevices(msgspec.Struct, frozen=True, gc=False):
    """Devices of one extended resource that the pods of a run hold."""

    resource: Annotated[Name, Wire("The extended resource, such as nvidia.com/gpu.", required=True)]
    count: Annotated[Counter, Wire("How many of it the pods have that are on a node and have not ended.")]


class GroupSize(msgspec.Struct, frozen=True, gc=False):
    """Number of pods of a group."""

    name: Annotated[Name, Wire("Name of the group.", required=True)]
    jobs: Annotated[Counter, Wire("Its jobs.")]
    pods: Annotated[Counter, Wire("Pods of each job.")]
    at_a_time: Annotated[Counter, Wire("Pods of each job that run at a time.")]


MAX_RESTART_REASONS: Final = 64
MAX_ATTEMPTS: Final = 256
"""Different attempts that a status holds."""
MAX_JOB_COUNTS: Final = 1_024
MAX_RULES: Final = 64
MAX_NODES: Final = 64
MAX_PLACES: Final = 8
"""Different ranks, and nodes, of failures that are the same."""


class RestartReason(msgspec.Struct, frozen=True, gc=False):
    """Number of restarts of the gang, or a part of it, for one reason."""

    reason: Annotated[Reason, Wire("The reason of the cause, or Other.")]
    count: Annotated[Counter, Wire("Restarts for it.")]


class Attempts(msgspec.Struct, frozen=True, gc=False):
    """Ranks that run again in this epoch."""

    ranks: Annotated[RankRanges, Wire("Ranks, such as 0-5,7.")]
    attempt: Annotated[Counter, Wire("Their attempt: how often they were run again in this epoch.")]
    resume_at: Annotated[
        Time | None, Wire("Earliest start of that attempt (back-off).", name="resumeTime", moves=True)
    ] = None


class JobRestarts(msgspec.Struct, frozen=True, gc=False):
    """Number of times that jobs were run again."""

    jobs: Annotated[RankRanges, Wire("Jobs by their index among the jobs of all groups, such as 0-5,7.")]
    restarts: Annotated[Count, Wire("Restarts of the whole job (RestartJob).")] = 0
    counted: Annotated[Count, Wire("Those of them that were charged to restartPolicy.backoffLimit.")] = 0
    failures: Annotated[
        Count,
        Wire(
            "Counted failures of single members since the job was last started (batch/v1 Job: failed).", life=Life.EPOCH
        ),
    ] = 0


class RuleUse(msgspec.Struct, frozen=True, gc=False):
    """Number of uses of a failure rule with a limit."""

    name: Annotated[Name, Wire("Name of the rule.")]
    used: Annotated[Counter, Wire("How often it was applied.")]


class NodeFailures(msgspec.Struct, frozen=True, gc=False):
    """Number of the experiment's failures on a node. The program may be the reason as well as the node."""

    name: Annotated[Name, Wire("Name of the node.")]
    failures: Annotated[Counter, Wire("Restarts, and the end, whose first failure was on it.")]
    avoided: Annotated[Flag, Wire("Whether later pods are kept off it.")] = False
    reason: Annotated[Reason, Wire("The last of these failures in one word.", name="lastReason")] = ""
    at: Annotated[Time | None, Wire("When the last of them was.", name="lastTime", stays="it is over")] = None
    of_node: Annotated[
        Flag, Wire("Whether Kubernetes or the container runtime reported the last of them of the node itself.")
    ] = False


class SameFailure(msgspec.Struct, frozen=True, gc=False):
    """The last failure of the gang, and how often it failed like that in a row without an advance."""

    fingerprint: Annotated[Reason, Wire("Digest of what is the same each time.")]
    failure: Annotated[Message, Wire("How it failed, with # for numbers, which may differ each time.")]
    count: Annotated[Counter, Wire("Failures in a row that are the same, without an advance between them.")]
    since: Annotated[Counter, Wire("Epoch of the first of them.", name="sinceEpoch")]
    work: Annotated[Count, Wire("Most seconds of work between two of them.", name="workSeconds")] = 0
    ranks: Annotated[
        tuple[Counter, ...], Wire(f"Ranks that failed so, at most {MAX_PLACES}.", most=MAX_PLACES, sparse=True)
    ] = ()
    nodes: Annotated[
        tuple[Name, ...], Wire(f"Nodes that they were on, at most {MAX_PLACES}.", most=MAX_PLACES, sparse=True)
    ] = ()
    spread: Annotated[Flag, Wire("Whether the gang was on other nodes, too, each time.", name="otherNodes")] = False
    again: Annotated[Flag, Wire("Whether they are as many as restartPolicy.sameFailureLimit (SameFailureAgain).")] = (
        False
    )
