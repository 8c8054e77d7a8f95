"""Rows of each experiment: read from the state at every scrape, so their series begin and end with the experiment."""

from muster.metrics.rows.row import Lean, Metric

ONE = ("namespace", "experiment")

INFO = Metric(
    "muster_experiment_info",
    "Always 1. engine is native for what Muster runs, observe for what another controller runs. Labels of "
    "owners follow (setting owner_labels): team is label_team.",
    (*ONE, "operator", "engine"),
    lean=Lean.ALWAYS,
)
PHASE = Metric(
    "muster_experiment_phase",
    "1 for its phase, 0 for the others. A finished experiment has only its last phase.",
    (*ONE, "phase"),
    lean=Lean.NOT_ZERO,
)
RANKS_EXPECTED = Metric("muster_experiment_ranks_expected", "Ranks the plan asks for: the size of the gang.", ONE)
RANKS_ARRIVED = Metric(
    "muster_experiment_ranks_arrived",
    "Ranks that have called the coordinator of this epoch or, where none can be asked, whose pod is ready.",
    ONE,
)
RANKS_MISSING = Metric(
    "muster_experiment_ranks_missing",
    "Ranks that have not arrived. Absent, as are the arrived, if the coordinator reports rank 0 only, or "
    "served and is silent.",
    ONE,
    lean=Lean.NOT_ZERO,
)
RANKS_MISSING_BY_CAUSE = Metric(
    "muster_experiment_ranks_missing_by_cause",
    "The missing ranks by cause; their sum is muster_experiment_ranks_missing.",
    (*ONE, "cause"),
    lean=Lean.NOT_ZERO,
)
FIRST_MISSING_RANK = Metric(
    "muster_experiment_first_missing_rank",
    "The lowest rank that has not arrived. Absent if none is missing, or no coordinator can be asked.",
    ONE,
    lean=Lean.ALWAYS,
)
ACCELERATORS = Metric(
    "muster_experiment_accelerators",
    "Accelerators that its pods hold: requests of pods that have a node and have not ended. Each request "
    "of a resource claim counts one. Absent where it holds none.",
    (*ONE, "resource"),
    lean=Lean.NOT_ZERO,
)
MEMBERS_READY = Metric("muster_experiment_members_ready", "Pods of this epoch that are ready.", ONE)
EPOCH = Metric("muster_experiment_epoch", "The life of the gang: 0, and one more with every gang restart.", ONE)
COORDINATOR_UP = Metric(
    "muster_experiment_coordinator_up",
    "1 if the last probe found the coordinator serving, else 0. Absent until this epoch was probed.",
    ONE,
)
COORDINATOR_STATE = Metric(
    "muster_experiment_coordinator_state",
    "1 for the state that the last probe saw, 0 for the others. Absent until this epoch was probed.",
    (*ONE, "state"),
    lean=Lean.NOT_ZERO,
)
COORDINATOR_LATENCY = Metric(
    "muster_experiment_coordinator_probe_latency_seconds", "Time the last probe of the coordinator took.", ONE
)
STUCK = Metric("muster_experiment_stuck", "1 while the condition Stuck is true, else 0.", ONE, lean=Lean.ALWAYS)
STUCK_REASON = Metric(
    "muster_experiment_stuck_reason",
    "1 for the reason of Stuck while it is true, 0 for earlier reasons. Absent if it was never stuck. "
    "audience is who can fix it: platform or researcher.",
    (*ONE, "reason", "audience"),
    lean=Lean.IN_TROUBLE,
)
STUCK_SINCE = Metric(
    "muster_experiment_stuck_since_timestamp_seconds",
    "When Stuck became true, in seconds since 1970. Absent while it is false.",
    ONE,
    lean=Lean.ALWAYS,
)
HANG = Metric(
    "muster_experiment_hang_info",
    "Always 1, while it is stuck as Hung or CollectiveStuck, with the message of that condition for "
    "alerts: at most 253 characters, without mentions and links.",
    (*ONE, "message"),
    lean=Lean.ALWAYS,
)
CLOCK_REMAINING = Metric(
    "muster_experiment_clock_remaining_seconds",
    "Time until a running clock runs out; negative afterwards.",
    (*ONE, "clock"),
    lean=Lean.ALWAYS,
)
CLOCK_ACTION = Metric(
    "muster_experiment_clock_action",
    "1 for what follows when a running clock runs out (Alert, Fail or Restart), 0 for the others. Of a "
    "watched run Fail does what its annotation asks.",
    (*ONE, "clock", "action"),
    lean=Lean.NOT_ZERO,
)
CLOCK_LIMIT = Metric(
    "muster_experiment_clock_limit_seconds", "The whole time of a running clock.", (*ONE, "clock"), lean=Lean.ALWAYS
)
GANG_RESTARTS = Metric(
    "muster_experiment_gang_restarts_total",
    "Gang restarts, disruptions included, of members alone excluded.",
    ONE,
    lean=Lean.ALWAYS,
)
DISRUPTIONS = Metric(
    "muster_experiment_disruptions_total",
    "Losses that the platform caused, of the gang or of a member alone.",
    ONE,
    lean=Lean.NOT_ZERO,
)
CONTAINER_RESTARTS = Metric(
    "muster_experiment_container_restarts_total",
    "Restarts of its containers by the kubelet, as they were seen; of a watched run since this daemon began.",
    ONE,
)
RESTARTS = Metric(
    "muster_experiment_restarts_total",
    "Restarts of the gang, a job or a member alone, and evictions by a queue, by reason; Other outside of "
    "a closed set.",
    (*ONE, "reason"),
    lean=Lean.NOT_ZERO,
)
WALL = Metric(
    "muster_experiment_wall_seconds_total", "Time since the start, without suspended time.", ONE, lean=Lean.ALWAYS
)
PRODUCTIVE = Metric(
    "muster_experiment_productive_seconds_total",
    "Time in phase Running and not Stuck, as known then. A gang that has succeeded before its roll was "
    "seen complete counts from its first process on.",
    ONE,
    lean=Lean.ALWAYS,
)
TAKEN_BACK = Metric(
    "muster_experiment_taken_back_seconds_total",
    "Productive seconds that turned out to be lost work, a hang or an announced pause.",
    ONE,
    lean=Lean.NOT_ZERO,
)
BADPUT = Metric(
    "muster_experiment_badput_seconds_total",
    "Time that was not productive, by bucket. With the productive seconds less those taken back it adds "
    "up to the wall seconds.",
    (*ONE, "source"),
)
BASIS = Metric(
    "muster_experiment_goodput_basis",
    "1 for what the buckets are made of: phase while no program has reported a step, else steps; 0 for the other.",
    (*ONE, "basis"),
)
QUEUED = Metric(
    "muster_experiment_queued_seconds_total", "Time in the phase Queued. Absent if it was never queued.", ONE
)
STEP = Metric(
    "muster_experiment_step",
    "The step that half of the reporting ranks have reached. Absent, as are the next three, unless the "
    "program reports steps.",
    ONE,
)
STEPS_PER_SECOND = Metric(
    "muster_experiment_steps_per_second", "Steps per second of the median rank, over 30 to 60 s.", ONE
)
LAST_STEP = Metric(
    "muster_experiment_last_step_timestamp_seconds", "When musterd last saw a new report, in seconds since 1970.", ONE
)
HUNG_AFTER = Metric(
    "muster_experiment_hung_after_seconds",
    "Time without a report after which it is Hung: 60 s (45 s where a rank is behind), or five times its "
    "longest pause.",
    ONE,
)
STRAGGLER_RANKS = Metric(
    "muster_experiment_straggler_ranks",
    "Ranks that are more than 2 steps and 20 s of work behind, three times in a row, or that come last to "
    "collectives for five minutes; the larger of the two. Absent where neither is known.",
    ONE,
)

ROWS = tuple(row for row in globals().values() if isinstance(row, Metric))
"""Those with labels that name the experiment."""

UNREPORTED = Metric(
    "muster_experiments_unreported",
    "Unfinished experiments without series in this scrape: over the cap, under a name in use, or unreadable.",
    ("reason",),
)
