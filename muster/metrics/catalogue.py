"""The catalogue: every metric Muster exports is one row here, and nothing exports what has no row.

Instruments and collectors are built from these rows, docs/metrics.md is printed from them, and tests scrape all and
compare. Names follow the Prometheus conventions (prometheus.io, "Metric and label naming"): base units, ``_total`` on
counters, ``_info`` on constants.

Cardinality is decided here too. Labels that name an experiment appear only on rows that are read from the state at
every scrape (``rows.experiment``, and one of ``rows.incident``), so a deleted experiment leaves no series behind. Other
counters and histograms live as long as the process. Their labels are from small closed sets, or are bounded
(``LABEL_SETS``, ``NAMESPACES``).

Counters begin at 0 with the label sets that are known beforehand: without that, the first restart or refusal is no
increase to a query. These are of the operators, phases, ways to end and refusals that Muster itself names. Reasons that
containers and schedulers name are an open set: the frequent ones are here, the others begin when they are met.
"""

from collections.abc import Mapping
from itertools import product

from muster.api.manifest.operators import operators
from muster.kinds.experiments import REGISTRY
from muster.metrics.rows import daemon, experiment, fleet, incident
from muster.metrics.rows.row import Section
from muster.state.facts.causes.table import Causes
from muster.state.policies.failures.restart_reasons import CRASHED, DISRUPTED, EXPORTED
from muster.state.summary.history import INVALID as INVALID_SPEC
from muster.state.view.roll import CoordinatorState
from muster.state.vocabulary.group import ProbeKind
from muster.state.vocabulary.record import FINISHED, Phase
from muster.state.vocabulary.refusals import ENDINGS, NAMED, of_made
from muster.state.vocabulary.rules import CLOCKS

SETTLED = 600.0
"""Seconds after a start, a restart or the end of Stuck, from which on an experiment is well."""

WHOLE_RUNS = 500
"""Experiments that are not well and have all of their series in one scrape."""

LEAN_RUNS = 1_500
"""Unfinished experiments, up to which one that is well has more than alerts and rules read."""

FRESH, MOST_FRESH = 3600.0, 2_000
"""A finished experiment keeps its series for so many seconds, and so many of them do."""

SERIES = 224_000
"""Series of all experiments together in one scrape, at most: 20,000 that run, 400 of them in trouble. 5,000 have about
55,000, and 150,000 while all of them are in trouble."""

LABEL_SETS = 80 * len(operators())
"""Label sets per counter or histogram, by the operators that are declared: the closed sets need a quarter of them."""

NAMESPACES = 100
"""Values of the label namespace of a counter: each holds two series per operator, for as long as the process lives."""

LONGEST = 253
"""Characters of a label value: the longest name Kubernetes allows (a DNS subdomain, RFC 1123)."""

INVALID = "_invalid"
"""The operator of experiments that cannot be planned: their spec may name any."""

OTHER = "_other"
"""Overflow label value, used once a metric has LABEL_SETS label sets, and a counter NAMESPACES namespaces."""

ONE_RUN = "Each experiment"
"""The section whose rows all have the labels of an experiment."""

SECTIONS = (
    Section("All experiments", "Sums that stay small however many experiments there are.", fleet.ROWS),
    Section(
        ONE_RUN,
        "Each but the last has the labels `namespace` and `experiment` too. The series of an experiment begin and end "
        "with it, and their labels do not change. Of several values (phase, state, cause, reason, action) each has a "
        "series, with zeros. A suspended experiment has no ranks.\n\n"
        "A healthy one (Running, with all ranks, and not Stuck, each for 10 minutes) omits these zeros: about 25 "
        f"series instead of 80. Where more than {LEAN_RUNS:,} are unfinished, it has only what alerts and rules read, "
        "about 9: those with a star; with two stars only what is not 0. One that is no longer healthy has all with the "
        f"next scrape, for at most {WHOLE_RUNS} experiments, stuck ones first; more have what is wrong, and the zeros "
        "of past reasons.\n\n"
        f"A finished one keeps its info and its last phase for an hour; at most {MOST_FRESH:,} do. A scrape holds at "
        f"most {SERIES:,} of these series. Unfinished experiments beyond that have none and are counted in "
        "muster_experiments_unreported; stuck ones are omitted last.",
        (*experiment.ROWS, experiment.UNREPORTED),
    ),
    Section(
        "Incidents",
        "Runs that one subject blocks (docs/incidents.md). Only the leader has them.",
        incident.ROWS,
    ),
    Section("Watches", "Whether the daemon's picture of the cluster is complete and fresh.", daemon.WATCHES),
    Section("Requests and probes", "What the daemon asks of the API server and of coordinators.", daemon.REQUESTS),
    Section(
        "The daemon",
        "How promptly it decides, and what it is. Beside these it exports what prometheus_client knows of the process: "
        "`process_cpu_seconds_total`, `process_resident_memory_bytes`, `process_virtual_memory_bytes`, "
        "`process_start_time_seconds`, `process_open_fds`, `process_max_fds`, `python_info` and `python_gc_*`.",
        daemon.PROCESS,
    ),
    Section(
        "The election",
        "Only with `--leader-elect`. A standby counts its watches, but no experiments and no queue.",
        daemon.ELECTION,
    ),
)

CATALOGUE = tuple(row for section in SECTIONS for row in section.rows)


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
"""Reasons of a success (``state.policies.ending``)."""

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
