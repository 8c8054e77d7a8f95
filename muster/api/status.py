"""The status of an Experiment: what Muster knows and has decided.

It is all that survives the daemon, and people and other versions of Muster read it. Each field is declared once, here:
its type, its bounds, what it means, how long it holds, whether a time moves with the wall clock, and whether it is a
fact, which is persisted the moment it changes, or part of the summary for people (sentences, counts), which follows
within seconds from a budget, so that a gang of 512 does not cost 512 status writes (``muster.state.summary.status``).
The daemon adds to it in ``muster.state.vocabulary.record``.

The classes are msgspec structs: a decision copies and compares them more than anything else. Times are wall seconds
since 1970; None means "not yet in this epoch".
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final

import msgspec

from muster.api.causes import MAX_EPOCHS, Blocked, Cause, ContainerRestarts, EpochEvidence, Stuck
from muster.api.conditions import Condition
from muster.api.gang import (
    MAX_ATTEMPTS,
    MAX_GROUPS,
    MAX_JOB_COUNTS,
    MAX_NODES,
    MAX_RESTART_REASONS,
    MAX_RULES,
    Attempts,
    GroupSize,
    HeldDevices,
    JobRestarts,
    NodeFailures,
    RestartReason,
    RollCall,
    RuleUse,
    SameFailure,
    Steps,
)
from muster.api.goodput import Goodput
from muster.api.values.accelerators import MOST_NAMES
from muster.api.wire import structs as wire
from muster.api.wire.kinds import (
    Count,
    Counter,
    Flag,
    Mark,
    Message,
    Name,
    RankRanges,
    Reason,
    Time,
    WholeTime,
    member_of,
)
from muster.api.wire.structs import Life, Wire

MAX_CONDITIONS: Final = 32
STORY_LINES: Final = 64
"""Lines that a status keeps: the first eight and the latest."""


class Phase(StrEnum):
    """The phases of an Experiment; the conditions have more detail."""

    SUSPENDED = "Suspended"
    QUEUED = "Queued"
    PENDING = "Pending"
    ASSEMBLING = "Assembling"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class StoryLine(msgspec.Struct, frozen=True, gc=False):
    """An event in the life of the experiment."""

    # It becomes a Kubernetes Event too, once the status that holds it is persisted.
    at: Annotated[Time, Wire("When it happened.", name="time", stays="it is over")]
    epoch: Annotated[Counter, Wire("Epoch in which it happened.")]
    reason: Annotated[Reason, Wire("What happened, in one word.", required=True)]
    message: Annotated[Message, Wire("What happened, in a sentence.")]
    warning: Annotated[Flag, Wire("Whether it needs attention.")] = False
    about: Annotated[Name, Wire("What it is about, in a word for programs: of Stuck, its reason.")] = ""


class ExperimentStatus(msgspec.Struct, frozen=True, gc=False):
    """What Muster knows and has decided."""

    phase: Annotated[
        str,
        member_of(Phase),
        Wire(
            "Summary of the conditions: Suspended, Queued, Pending, Assembling, Running, Restarting, Succeeded or "
            "Failed."
        ),
    ] = ""
    phase_at: Annotated[Time, Wire("When this phase began.", name="phaseTime", summary=True, moves=True)] = 0.0
    reason: Annotated[Reason, Wire("Reason of this phase, in one word.", summary=True)] = ""
    message: Annotated[Message, Wire("What it waits for, or how it ended.", summary=True)] = ""
    generation: Annotated[Counter, Wire("Generation of the spec this status is about.", name="observedGeneration")] = 0
    epoch: Annotated[Counter, Wire("Number of this life of the gang, from 0.")] = 0
    restarts: Annotated[Counter, Wire("Restarts counted against restartPolicy.backoffLimit.")] = 0
    disruptions: Annotated[
        Counter, Wire("Losses that the platform caused, of the gang or of a member alone; they are not counted.")
    ] = 0
    consecutive_disruptions: Annotated[
        Counter,
        Wire("Disruptions since the gang last made progress: it was assembled and ran for 5 minutes.", life=Life.START),
    ] = 0
    restart_reasons: Annotated[
        tuple[RestartReason, ...],
        Wire(
            "Restarts of the gang, of a job or of a member alone, and evictions by a queue, by the reason of their "
            "cause.",
            most=MAX_RESTART_REASONS,
        ),
    ] = ()
    ready: Annotated[
        Counter, Wire("Arrived ranks (or ready members) of those expected, such as 3/4.", summary=True, of="size")
    ] = 0
    size: int = 0
    completed: Annotated[
        RankRanges,
        Wire(
            "Ranks that have succeeded in this epoch, such as 0-5,7.",
            name="completedRanks",
            summary=True,
            life=Life.EPOCH,
        ),
    ] = ""
    """A rank in it stays done when its pod is removed. Written with every status, and soon after a rank succeeds."""
    attempts: Annotated[
        tuple[Attempts, ...],
        Wire("Ranks whose attempt in this epoch is not 0.", most=MAX_ATTEMPTS, sparse=True, life=Life.EPOCH),
    ] = ()
    ignored: Annotated[
        RankRanges,
        Wire(
            "Ranks that failed in this epoch and are not run again (action Ignore).",
            name="ignoredRanks",
            life=Life.EPOCH,
        ),
    ] = ""
    job_restarts: Annotated[
        tuple[JobRestarts, ...],
        Wire("Jobs that were run again, or whose members were.", most=MAX_JOB_COUNTS, sparse=True),
    ] = ()
    gang_restarts: Annotated[Count, Wire("Gang restarts, counted or not.")] = 0
    rule_uses: Annotated[
        tuple[RuleUse, ...], Wire("Uses of failure rules that have a limit.", most=MAX_RULES, sparse=True)
    ] = ()
    renewed: Annotated[
        Count,
        Wire(
            "Counted restarts that count no more against restartPolicy.backoffLimit, because the gang has made "
            "progress since (restartPolicy.renewOnProgress).",
            name="renewedRestarts",
        ),
    ] = 0
    same_failure: Annotated[
        SameFailure | None,
        Wire("The last failure of the gang, where it can be known again, until the gang advances.", life=Life.START),
    ] = None
    best_step: Annotated[
        Counter | None, Wire("Highest step that the gang had reported when an epoch ended.", life=Life.START)
    ] = None
    node_failures: Annotated[
        tuple[NodeFailures, ...],
        Wire(
            "Nodes that the experiment failed on, the latest last. The program may be the reason as well as the node.",
            most=MAX_NODES,
            newest=True,
            sparse=True,
        ),
    ] = ()
    coordinator: Annotated[Name, Wire("Address of the coordinator in this epoch.", life=Life.EPOCH)] = ""
    dashboard: Annotated[
        Name, Wire("Address of the coordinator's web page in this epoch, where it has one.", life=Life.EPOCH)
    ] = ""
    started_at: Annotated[
        Time | None,
        Wire("When the experiment was started, or last resumed.", name="startTime", life=Life.START, moves=True),
    ] = None
    epoch_at: Annotated[Time | None, Wire("When this epoch began.", name="epochTime", life=Life.EPOCH, moves=True)] = (
        None
    )
    scheduled_at: Annotated[
        Time | None,
        Wire("When all pods of this epoch were scheduled.", name="scheduledTime", life=Life.EPOCH, moves=True),
    ] = None
    assembling_at: Annotated[
        Time | None,
        Wire("When the first process of this epoch ran.", name="assemblingTime", life=Life.EPOCH, moves=True),
    ] = None
    assembled_at: Annotated[
        Time | None,
        Wire("When the roll of this epoch was complete.", name="assembledTime", life=Life.EPOCH, moves=True),
    ] = None
    progressed_at: Annotated[
        Time | None,
        Wire(
            "Last sign of progress in this epoch, where spec.clocks.progress is set.",
            name="progressTime",
            summary=True,
            life=Life.EPOCH,
            moves=True,
        ),
    ] = None
    ending_at: Annotated[
        Time | None, Wire("When the wait for pods that must end began.", name="endingTime", moves=True, after_end=True)
    ] = None
    finished_at: Annotated[Time | None, Wire("When it succeeded or failed.", name="finishTime", stays="it is over")] = (
        None
    )
    shape: Annotated[
        Message,
        Wire(
            "Digests of the fields of the spec that this epoch was begun with and that cannot change.",
            summary=True,
            life=Life.EPOCH,
        ),
    ] = ""
    pending_edits: Annotated[Message, Wire("Edits that pods which run do not follow, or what is wrong with one.")] = ""
    edit_refused: Annotated[Mark, Wire("Whether the latest edit cannot be run.")] = False
    groups: Annotated[
        tuple[GroupSize, ...],
        Wire(
            "Of a JobSet or JAXJob: how many pods the run was begun with.", most=MAX_GROUPS, summary=True, sparse=True
        ),
    ] = ()
    delete_at: Annotated[
        Time | None,
        Wire(
            "When the experiment is deleted: by spec.ttlAfterFinished, or by the installation (retentionSeconds).",
            name="deleteTime",
            moves=True,
            after_end=True,
        ),
    ] = None
    retention: Annotated[
        Counter | None,
        Wire(
            "Where deleteTime follows from the setting retention of musterd, because the spec has no ttlAfterFinished: "
            "for how many seconds that setting keeps it.",
            name="retentionSeconds",
        ),
    ] = None
    resume_at: Annotated[
        Time | None,
        Wire("Earliest start of the next epoch (back-off).", name="resumeTime", life=Life.EPOCH, moves=True),
    ] = None
    updated_at: Annotated[
        Time,
        Wire("When this status was written.", name="updateTime", summary=True, stays="it shows when this was written"),
    ] = 0.0
    restart_request: Annotated[
        Name, Wire("The last request for a restart (annotation muster.dev/restart) that was followed.")
    ] = ""
    volume_at: Annotated[
        Time | None,
        Wire(
            "When the claim of the shared volume was made or found.",
            name="volumeTime",
            summary=True,
            stays="it is over",
        ),
    ] = None
    volume_lost_at: Annotated[
        Time | None,
        Wire(
            "When that claim was found to be gone; it was created again, without its data.",
            name="volumeLostTime",
            stays="it is over",
        ),
    ] = None
    deadline: Annotated[
        WholeTime | None, Wire("When the total clock (timeout) runs out.", stays="it is computed again from startTime")
    ] = None
    broken_at: Annotated[
        Time | None,
        Wire("When the gang broke; until it is assembled again.", name="brokenTime", life=Life.START, moves=True),
    ] = None
    goodput: Annotated[
        Goodput | None,
        Wire("Where the time went since the start, without the suspended, in milliseconds.", summary=True),
    ] = None
    roll: Annotated[RollCall | None, Wire("The last roll call.", summary=True, life=Life.EPOCH)] = None
    steps: Annotated[
        Steps | None, Wire("How far the programs have come, where they report steps (muster.report).", summary=True)
    ] = None
    devices: Annotated[
        tuple[HeldDevices, ...],
        Wire(
            "Extended resources that its pods hold, as they were when this status was written.",
            most=MOST_NAMES,
            summary=True,
            sparse=True,
        ),
    ] = ()
    blocked: Annotated[Blocked | None, Wire("What keeps a member from starting or working, and since when.")] = None
    stuck: Annotated[
        Stuck | None,
        Wire("Why it is Stuck, and which members block the gang of this epoch.", summary=True, life=Life.EPOCH),
    ] = None
    """Fact that outlives the answers of a coordinator that ends because of it, and the daemon."""
    cause: Annotated[Cause | None, Wire("Why the last epoch ended.")] = None
    in_place: Annotated[
        ContainerRestarts | None,
        Wire("How often containers were started again in their pods.", name="containerRestarts", summary=True),
    ] = None
    evidence: Annotated[
        tuple[EpochEvidence, ...],
        Wire(
            "What was known of the last epochs that ended without success, when they were ended.",
            most=MAX_EPOCHS,
            newest=True,
            sparse=True,
        ),
    ] = ()
    """Written with the end of the epoch, before its pods are stopped: ``muster explain --epoch`` shows it."""
    conditions: Annotated[
        tuple[Condition, ...],
        Wire("Conditions of the experiment; kubectl wait works on each.", most=MAX_CONDITIONS, summary=True),
    ] = ()
    story: Annotated[
        tuple[StoryLine, ...],
        Wire(
            f"What happened, oldest first: the first lines and the latest, at most {STORY_LINES}.",
            most=STORY_LINES,
            newest=True,
        ),
    ] = ()

    @property
    def readiness(self) -> str:
        """Return ``3/4``: how many of how many are ready; empty before the daemon has counted."""
        return f"{self.ready}/{self.size}" if self.size else ""

    @property
    def restarts_begun(self) -> int:
        """Return the counted restarts, without one whose epoch never began because the experiment was ended before."""
        announced = self._never_began and self.cause is not None and not self.cause.disruption
        return max(0, self.restarts - announced)

    @property
    def epoch_begun(self) -> int:
        """Return the epoch, or the one before it where the experiment was ended before its epoch began."""
        return self.epoch - self._never_began

    @property
    def _never_began(self) -> bool:
        """Return True if a restart was announced when the experiment ended, and nothing of its epoch was started."""
        ended = self.phase == Phase.FAILED and self.epoch_at is None
        return ended and self.cause is not None and self.cause.epoch + 1 == self.epoch

    @staticmethod
    def from_object(raw: Mapping[str, Any] | None) -> "ExperimentStatus":
        """Return the status in a decoded API object; None is an empty status. Raises ``WireError``."""
        return wire.read(ExperimentStatus, {} if raw is None else raw)

    def to_object(self) -> dict[str, Any]:
        """Return the status for the wire, without what is not known."""
        return wire.write(ExperimentStatus, self)
