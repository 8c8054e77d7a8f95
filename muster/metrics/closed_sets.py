"""The label sets that counters begin with, at 0: without that, the first restart or refusal is no increase to a query.

What happens is known beforehand for the operators, phases, ways to end and refusals that Muster itself names. Reasons
that containers and schedulers name are an open set: the frequent ones are here, the others begin when they are met.
"""

from collections.abc import Mapping
from itertools import product

from muster.kinds.experiments.planning import REGISTRY
from muster.metrics.catalogue import INVALID
from muster.state.facts.causes.table import Causes
from muster.state.policies.failures.restart_reasons import CRASHED, DISRUPTED, EXPORTED
from muster.state.summary.invalid_spec import REASON as INVALID_SPEC
from muster.state.view.roll import CoordinatorState
from muster.state.vocabulary.coordinator import ProbeKind
from muster.state.vocabulary.record import FINISHED, Phase
from muster.state.vocabulary.refusals import ENDINGS, NAMED, of_made
from muster.state.vocabulary.rules import CLOCKS

OPERATORS = tuple(REGISTRY)
"""The operators that can be planned."""

CLOCK_REASONS = tuple(clock.reason for clock in CLOCKS)

FAILURES = (
    "BackoffLimitExceeded",
    "MaxDisruptionsExceeded",
    "SameFailureAgain",
    "FailureRule",
    "FailureRuleLimitExceeded",
    "IgnoredMembersFailed",
    "Cancelled",
    "PodRejected",
    "NamespaceGone",
    *(reason for reason in CLOCK_REASONS if reason != "TerminatingDeadlineExceeded"),
)
"""Reasons with which an experiment fails. (The clock over pods that end never fails one.)"""

SUCCESSES = ("AllMembersSucceeded", "SuccessPolicyMet")
"""Reasons of a success (``state.policies.ending.success``)."""

REFUSED = (*(row.name for row in NAMED), "PodRejected", "PodsForbidden")
"""Reasons of refusals that are counted from the start."""

PLACES = ("watch", "clock", "step", "event")
"""Places at which an unexpected exception is caught."""

RECONNECTS = ("ended", "early", "silent", "unreachable", "expired", "throttled", "forbidden", "apierror")
"""Why a watch is opened again (``muster.kube.listwatch.reflector``)."""

OTHER_CAUSE = "other"
LOST_TO: Mapping[str, tuple[str, ...]] = {
    "hang": ("Hung", "CollectiveStuck"),
    "coordinator": (
        *("CoordinatorUnreachable", "CoordinatorNotServing", "DashboardNotServing", "CoordinatorGone"),
        "CoordinatorLost",
    ),
    "ranks": ("RanksMissing", "RankFailed", "ProcessCountMismatch", "RanksEnded", "RanksNotStarted"),
    "image": ("ImagePull", *Causes.IMAGE_PULL.reasons),
    "scheduling": ("Unschedulable", "SchedulerError", "PendingDeadlineExceeded", "Queued", "PartlyQueued"),
    "refused": (
        "Refused",
        *(row.name for row in NAMED if not row.ours),
        *of_made(*(row for row in ENDINGS if not row.ours)),
    ),
    "node": (
        *("NodeNotReady", "NodeLost", "NodeFailures", "ContainerStatusUnknown", "SandboxNotReady"),
        *("DriverFails", "DeviceDriverFailed", "NodeDiskFull", "NetworkFails", "VolumeFails"),
        *("DeletionByTaintManager", "DeletionByPodGC", "TerminationByKubelet"),
    ),
    "preemption": (
        *("PreemptionByScheduler", "EvictionByEvictionAPI", "Preempted", "FlavorMigration", "ClusterQueueStopped"),
        *("LocalQueueStopped", "EvictedOnManagerCluster", "DisruptionLoop"),
    ),
    "program": (
        *("Error", "OOMKilled", "ContainerFailed", "MemberFailed", "RestartedInPlace", "SameFailureAgain"),
        *("CreateContainerConfigError", "CreateContainerError", "ContainerCannotStart", "FailureReported"),
    ),
    "deadline": tuple(reason for reason in CLOCK_REASONS if reason != "PendingDeadlineExceeded"),
    "controller": ("PodsMissing", "StatusIsFalse", "PodDeleted", "PodAltered", "OtherController"),
}
"""Causes of lost accelerator-hours: reasons of Stuck, and of the end of an epoch. All others are ``OTHER_CAUSE``."""

LOST_CAUSES = (*LOST_TO, OTHER_CAUSE)
_LOST_TO = {reason: cause for cause, reasons in LOST_TO.items() for reason in reasons}

if len(_LOST_TO) < sum(map(len, LOST_TO.values())):
    raise ValueError("a reason is of two causes")


def lost_to(reason: str) -> str:
    """Return what the time of a run is lost to that is stuck, or was restarted, for that reason."""
    return _LOST_TO.get(reason, OTHER_CAUSE)


EACH_OPERATOR = tuple((operator,) for operator in OPERATORS)
PHASES = tuple((operator, phase) for operator, phase in product(OPERATORS, Phase) if phase not in FINISHED)
RESTARTS = tuple(product(OPERATORS, (reason for reason in (*CRASHED, *DISRUPTED) if reason in EXPORTED)))
DISRUPTIONS = tuple(product(OPERATORS, DISRUPTED))
MEMBER_RESTARTS = RESTARTS
COMPLETED, OTHER_END = "Completed", "Other"
ENDS = (*(reason for reason in CRASHED if reason != "ContainerFailed"), COMPLETED, OTHER_END)
"""Reasons of containers that the kubelet starts again in their pods; all that are counted."""
CONTAINER_RESTARTS = tuple(product(OPERATORS, ENDS))
AGAIN, RENEWED = "SameFailureAgain", "BudgetRenewed"
VERDICTS = ((AGAIN, "false"), (AGAIN, "true"), (RENEWED, "true"))
"""Verdicts over restarts, and whether Muster acted on them."""
OUTCOMES = (
    *((operator, Phase.SUCCEEDED, reason) for operator, reason in product(OPERATORS, SUCCESSES)),
    *((operator, Phase.FAILED, reason) for operator, reason in product(OPERATORS, FAILURES)),
    (INVALID, Phase.FAILED, INVALID_SPEC),
)
REFUSALS = tuple((reason,) for reason in REFUSED)
RETRIED = (
    *product(("create", "delete", "patch", "list"), ("pods",)),
    ("create", "services"),
    ("create", "events"),
    ("update", "experiments/status"),
    ("update", "leases"),
)
"""Requests, by verb and resource, that a busy API server asks to send again."""
ERRORS = tuple((place,) for place in PLACES)
PROBES = tuple((kind, state) for kind, state in product(ProbeKind, CoordinatorState) if not kind.passive)
POSTS = tuple((outcome,) for outcome in ("accepted", "refused", "too-many", "unavailable"))
"""Answers of the progress endpoint (``daemon.web.progress``)."""
