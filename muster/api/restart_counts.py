"""What a status holds of restarts: reasons, attempts, uses of failure rules, and nodes that were failed on."""

from typing import Annotated, Final

import msgspec

from muster.api.wire.kinds import Count, Counter, Flag, Name, RankRanges, Reason, Time
from muster.api.wire.structs import Life, Wire

MAX_RESTART_REASONS: Final = 64
MAX_ATTEMPTS: Final = 256
"""Different attempts that a status holds."""
MAX_JOB_COUNTS: Final = 1_024
MAX_RULES: Final = 64
MAX_RESTART_TIMES: Final = 256
MAX_NODES: Final = 64


class RestartReason(msgspec.Struct, frozen=True, gc=False):
    """How often the gang, or a part of it, was restarted for one reason."""

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
    """How often jobs were run again."""

    jobs: Annotated[RankRanges, Wire("Jobs by their index among the jobs of all groups, such as 0-5,7.")]
    restarts: Annotated[Count, Wire("Restarts of the whole job (RestartJob).")] = 0
    counted: Annotated[Count, Wire("Those of them that were charged to restartPolicy.backoffLimit.")] = 0
    failures: Annotated[
        Count,
        Wire(
            "Counted failures of single members since the job was last started (batch/v1 Job: failed).", life=Life.EPOCH
        ),
    ] = 0
    started_at: Annotated[
        Time | None,
        Wire(
            "When these jobs were started, where that is not the start of the epoch.",
            name="startTime",
            life=Life.EPOCH,
            moves=True,
        ),
    ] = None


class RuleUse(msgspec.Struct, frozen=True, gc=False):
    """How often a failure rule with a limit was applied."""

    name: Annotated[Name, Wire("Name of the rule.")]
    used: Annotated[Counter, Wire("How often it was applied.")]


class NodeFailures(msgspec.Struct, frozen=True, gc=False):
    """How often the experiment failed on a node."""

    name: Annotated[Name, Wire("Name of the node.")]
    failures: Annotated[Counter, Wire("Restarts whose first failure was on it.")]
    avoided: Annotated[Flag, Wire("Whether later pods are kept off it.")] = False
