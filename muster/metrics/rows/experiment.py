"""Rows of each experiment: read from the state at every scrape, so their series begin and end with the experiment."""

from muster.metrics.rows.row import Lean, Metric

ONE = ("namespace", "experiment")

INFO = Metric(
    "muster_experiment_info",
    "Always 1. With the phase, all that a finished experiment keeps. engine is native for what Muster runs, observe "
    "for what another controller runs. The labels of owners follow, as the setting owner_labels names them: team is "
    "label_team. One that the run does not have is absent.",
    (*ONE, "operator", "engine"),
    lean=Lean.ALWAYS,
)
PHASE = Metric(
    "muster_experiment_phase",
    "1 for the phase it is in, 0 for each other phase. A finished experiment has only the phase in which it ended.",
    (*ONE, "phase"),
    lean=Lean.NOT_ZERO,
)
RANKS_EXPECTED = Metric("muster_experiment_ranks_expected", "Ranks the plan asks for: the size of the gang.", ONE)
RANKS_ARRIVED = Metric(
    "muster_experiment_ranks_arrived",
    "Ranks that have registered with the coordinator of this epoch or, where none can be asked, whose pod is ready.",
    ONE,
)
RANKS_MISSING = Metric(
    "muster_experiment_ranks_missing",
    "Ranks expected that have not arrived. Absent, as are the arrived, if the coordinator speaks of rank 0 only, or "
    "served and is silent.",
    ONE,
    lean=Lean.NOT_ZERO,
)
RANKS_MISSING_BY_CAUSE = Metric(
    "muster_experiment_ranks_missing_by_cause",
    "The missing ranks by their cause, as far as their pods show it; their sum is muster_experiment_ranks_missing.",
    (*ONE, "cause"),
    lean=Lean.NOT_ZERO,
)
FIRST_MISSING_RANK = Metric(
    "muster_experiment_first_missing_rank",
    "The lowest rank that has not registered with the coordinator. Absent if none is, or if no coordinator lists them.",
    ONE,
    lean=Lean.ALWAYS,
)
ACCELERATORS = Metric(
    "muster_experiment_accelerators",
    "Accelerators that its pods hold: what those ask for that are on a node and have not ended, by extended resource. "
    "Absent where it holds none. Each request of a claim that is made for the pod counts one.",
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
    "1 for the state the last probe saw behind the coordinator's port, 0 for each other state. Absent until this epoch "
    "was probed.",
    (*ONE, "state"),
    lean=Lean.NOT_ZERO,
)
COORDINATOR_LATENCY = Metric(
    "muster_experiment_coordinator_probe_latency_seconds",
    "Time the last probe of the coordinator took.",
    ONE,
    "seconds",
)
STUCK = Metric(
    "muster_experiment_stuck",
    "1 while the condition Stuck is true, else 0. muster_experiment_stuck_reason has the reason.",
    ONE,
    lean=Lean.ALWAYS,
)
STUCK_REASON = Metric(
    "muster_experiment_stuck_reason",
    "1 for the reason of the condition Stuck while it is true, 0 for each other reason it had before, as far as the "
    "story in the status goes back. Absent for an experiment that was never stuck. audience is who can fix it: "
    "platform or researcher.",
    (*ONE, "reason", "audience"),
    lean=Lean.IN_TROUBLE,
)
STUCK_SINCE = Metric(
    "muster_experiment_stuck_since_timestamp_seconds",
    "When the condition Stuck became true, in seconds since 1970. Absent while it is false.",
    ONE,
    "seconds",
    lean=Lean.ALWAYS,
)
HANG = Metric(
    "muster_experiment_hang_info",
    "Always 1, while it is stuck as Hung or CollectiveStuck: the message of that condition, with the ranks that block "
    "the others and where they are, as far as they report it. It is for the text of an alert: one series for each "
    "hang, of at most 253 characters, and none that a chat takes for a mention or a link.",
    (*ONE, "message"),
    lean=Lean.ALWAYS,
)
CLOCK_REMAINING = Metric(
    "muster_experiment_clock_remaining_seconds",
    "Time until a running clock runs out; negative once it has. Absent while the clock does not run.",
    (*ONE, "clock"),
    "seconds",
    lean=Lean.ALWAYS,
)
CLOCK_ACTION = Metric(
    "muster_experiment_clock_action",
    "1 for what follows when a running clock runs out (Alert, Fail or Restart), 0 for the others. Of a watched run "
    "Fail ends it as its annotation asks. Absent while the clock does not run.",
    (*ONE, "clock", "action"),
    lean=Lean.NOT_ZERO,
)
CLOCK_LIMIT = Metric(
    "muster_experiment_clock_limit_seconds",
    "The whole time that a running clock gives. Absent while the clock does not run.",
    (*ONE, "clock"),
    "seconds",
    lean=Lean.ALWAYS,
)
GANG_RESTARTS = Metric(
    "muster_experiment_gang_restarts_total",
    "Gang restarts of its life, those after disruptions too. Members that are run again alone are none. From the "
    "status, so a restart of the daemon resets nothing.",
    ONE,
    lean=Lean.ALWAYS,
)
DISRUPTIONS = Metric(
    "muster_experiment_disruptions_total",
    "Losses of its life that the platform caused, of the gang or of a member alone. From the status.",
    ONE,
    lean=Lean.NOT_ZERO,
)
RESTARTS = Metric(
    "muster_experiment_restarts_total",
    "Restarts of its life by the reason of their cause, which is Other outside of a closed set: of the gang, of a job "
    "or of a member alone, and evictions by a queue. From the status.",
    (*ONE, "reason"),
    lean=Lean.NOT_ZERO,
)
CONTAINER_RESTARTS = Metric(
    "muster_experiment_container_restarts_total",
    "Restarts of containers of its members in their pods, which the kubelet makes, as they were seen. The Event "
    "RestartedInPlace has the cause. From the status; of a watched run since this daemon began.",
    ONE,
)
WALL = Metric(
    "muster_experiment_wall_seconds_total",
    "Time since the start, without suspended time. From the status, and since the beginning of the phase.",
    ONE,
    "seconds",
    lean=Lean.ALWAYS,
)
PRODUCTIVE = Metric(
    "muster_experiment_productive_seconds_total",
    "The part of muster_experiment_wall_seconds_total in which all ranks had arrived and ran (phase Running), and the "
    "condition Stuck was not true, as it was known then. Without muster_experiment_taken_back_seconds_total, and "
    "divided by the whole, it is the goodput. A gang that has succeeded before its roll was seen complete counts from "
    "its first process on.",
    ONE,
    "seconds",
    lean=Lean.ALWAYS,
)
TAKEN_BACK = Metric(
    "muster_experiment_taken_back_seconds_total",
    "The part of muster_experiment_productive_seconds_total that has turned out later to be of another bucket: work "
    "that a restart lost, a hang before it was known, and announced pauses.",
    ONE,
    "seconds",
    lean=Lean.NOT_ZERO,
)
BADPUT = Metric(
    "muster_experiment_badput_seconds_total",
    "The part of muster_experiment_wall_seconds_total that was not productive, by what it went into. All of them, and "
    "the productive seconds without those that were taken back, add up to the wall seconds.",
    (*ONE, "source"),
    "seconds",
)
BASIS = Metric(
    "muster_experiment_goodput_basis",
    "1 for what the buckets are made of: phase while no program has reported a step (lost work, pauses and the startup "
    "of programs are not known then), else steps; 0 for the other.",
    (*ONE, "basis"),
)
QUEUED = Metric(
    "muster_experiment_queued_seconds_total",
    "The part of muster_experiment_wall_seconds_total in which it waited for the admission of a queue (phase Queued). "
    "Absent for an experiment that was never queued.",
    ONE,
    "seconds",
)
STEP = Metric(
    "muster_experiment_step",
    "The step that half of the reporting ranks have reached. Absent, as are the next three, unless the program reports "
    "steps in this epoch.",
    ONE,
)
STEPS_PER_SECOND = Metric(
    "muster_experiment_steps_per_second",
    "Steps per second of the median rank, by its own clock, over 30 to 60 s. Absent before a rank has reported two "
    "steps.",
    ONE,
)
LAST_STEP = Metric(
    "muster_experiment_last_step_timestamp_seconds",
    "When musterd last saw a report that was new, in seconds since 1970.",
    ONE,
    "seconds",
)
HUNG_AFTER = Metric(
    "muster_experiment_hung_after_seconds",
    "Time without a report after which the experiment is stuck with the reason Hung: 60 s (45 s where a rank is "
    "behind), or five times its longest time between two reports.",
    ONE,
    "seconds",
)
STRAGGLER_RANKS = Metric(
    "muster_experiment_straggler_ranks",
    "Ranks that are behind by more than 2 steps and more than 20 s of work, in three looks, or that come last to "
    "collectives for five minutes; the larger of the two. Absent where neither is known.",
    ONE,
)
UNREPORTED = Metric(
    "muster_experiments_unreported",
    "Unfinished experiments without series of their own in this scrape: over the cap, under a name taken already, or "
    "unreadable.",
    ("reason",),
)

ROWS = (
    INFO,
    PHASE,
    RANKS_EXPECTED,
    RANKS_ARRIVED,
    RANKS_MISSING,
    RANKS_MISSING_BY_CAUSE,
    FIRST_MISSING_RANK,
    ACCELERATORS,
    MEMBERS_READY,
    EPOCH,
    COORDINATOR_UP,
    COORDINATOR_STATE,
    COORDINATOR_LATENCY,
    STUCK,
    STUCK_REASON,
    STUCK_SINCE,
    HANG,
    CLOCK_REMAINING,
    CLOCK_ACTION,
    CLOCK_LIMIT,
    GANG_RESTARTS,
    DISRUPTIONS,
    CONTAINER_RESTARTS,
    RESTARTS,
    WALL,
    PRODUCTIVE,
    TAKEN_BACK,
    BADPUT,
    BASIS,
    QUEUED,
    STEP,
    STEPS_PER_SECOND,
    LAST_STEP,
    HUNG_AFTER,
    STRAGGLER_RANKS,
)
"""Those with labels that name the experiment."""
