"""Rows of all experiments together: sums that stay small however many experiments there are."""

from muster.metrics.rows.row import Metric

_MINUTE, _HOUR = 60.0, 3600.0
LIFE = (1.0, 2.5, 5.0, 10.0, 30.0, *(n * _MINUTE for n in (1, 2, 5, 10, 30)), *(n * _HOUR for n in (1, 3, 12, 24)))
"""Buckets, in seconds, of what an experiment goes through."""

EXPERIMENTS = Metric("muster_experiments", "Experiments known to this daemon, by phase.", ("operator", "phase"))
ACCELERATORS = Metric(
    "muster_accelerators",
    "Accelerators that the pods of all experiments hold (state held), and those of experiments whose condition Stuck "
    "is true (state stuck, a part of held).",
    ("resource", "state"),
)
NAMESPACE_EXPERIMENTS = Metric(
    "muster_namespace_experiments",
    "Experiments of a namespace that have not ended, by the phase they are in, also those without series of their own. "
    "Absent for a phase that none is in. Beyond 1,000 namespaces with such experiments those of all others have the "
    "namespace _other.",
    ("namespace", "phase"),
)
NAMESPACE_STUCK = Metric(
    "muster_namespace_experiments_stuck",
    "Those of them whose condition Stuck is true; 0 where none is.",
    ("namespace",),
)
PHASE_DURATION = Metric(
    "muster_phase_duration_seconds",
    "Time an experiment spent in a phase, observed when it leaves the phase. Assembling is the wait for the roll.",
    ("operator", "phase"),
    "seconds",
    LIFE,
)
TIME_TO_ASSEMBLED = Metric(
    "muster_time_to_assembled_seconds",
    "Time from the launch of an epoch, when its first pod is asked for, until its roll was seen complete.",
    ("operator",),
    "seconds",
    LIFE,
)
RESTART_DOWNTIME = Metric(
    "muster_restart_downtime_seconds",
    "Time from the failure or disruption that a gang restart followed until the roll was complete again. Failures "
    "meanwhile prolong it.",
    ("operator",),
    "seconds",
    LIFE,
)
GANG_RESTARTS = Metric(
    "muster_gang_restarts_total",
    "Gang restarts by the reason of their cause. Includes the restarts that muster_disruptions_total counts.",
    ("operator", "reason"),
)
DISRUPTIONS = Metric(
    "muster_disruptions_total",
    "Gang restarts after something done to the gang (preemption, eviction, node loss): they cost none of the budget.",
    ("operator", "reason"),
)
MEMBER_RESTARTS = Metric(
    "muster_member_restarts_total",
    "Members that were run again while their epoch continued, by the reason of the failure. Of pods that a Job of a "
    "JobSet replaces at once, it is the reason of the first. muster_gang_restarts_total does not count them.",
    ("operator", "reason"),
)
CONTAINER_RESTARTS = Metric(
    "muster_container_restarts_total",
    "Restarts of containers in their pods, which the kubelet makes, by the reason of the end that began the last row "
    "of them: OOMKilled, Error, Completed or Other.",
    ("operator", "reason"),
)
RESTART_VERDICTS = Metric(
    "muster_restart_verdicts_total",
    "Verdicts over the restarts of gangs. SameFailureAgain: the gang failed in the same way as before, without an "
    "advance; enforced is true if that ended the experiment, false if it was only reported. BudgetRenewed: its "
    "restarts count no more, because it made progress.",
    ("verdict", "enforced"),
)
OUTCOMES = Metric(
    "muster_outcomes_total",
    "Experiments that ended, by how (outcome is the final phase) and why.",
    ("operator", "outcome", "reason"),
)
NAMESPACE_OUTCOMES = Metric(
    "muster_namespace_outcomes_total",
    "Experiments that ended, by namespace and by how (outcome is the final phase). The first 100 namespaces that the "
    "process meets have series of their own, from the first record of an experiment, at 0; those of all others have "
    "the namespace _other. muster_outcomes_total has the reasons.",
    ("namespace", "operator", "outcome"),
)
NAMESPACE_SECONDS = Metric(
    "muster_namespace_seconds_total",
    "Time of all runs of a namespace by what it went into: each second of a run counts once, also of runs that have no "
    "series of their own. The buckets are productive and those of muster_experiment_badput_seconds_total; taken_back "
    "is the part of productive that has turned out to be of another one. Counted since this daemon leads, each from 0; "
    "suspended time is in none. Namespaces share _other as in muster_namespace_outcomes_total.",
    ("namespace", "operator", "bucket"),
    "seconds",
)
NAMESPACE_ACCELERATOR_SECONDS = Metric(
    "muster_namespace_accelerator_seconds_total",
    "The same for each accelerator that a run held then: a second of a run with 4,096 counts 4,096 times.",
    ("namespace", "operator", "resource", "bucket"),
    "seconds",
)
NAMESPACE_ACCELERATOR_LOST = Metric(
    "muster_namespace_accelerator_lost_seconds_total",
    "What of it was wasted, in the buckets stuck, recovery and lost, by what it was lost to: that is, for what the run "
    "was Stuck, or its last epoch ended. A closed list of causes; those of other reasons are other.",
    ("namespace", "operator", "resource", "cause"),
    "seconds",
)
REFUSALS = Metric(
    "muster_refusals_total",
    "Requests for an experiment that the API server refused (quota, admission, rights, errors), by reason. "
    "muster_experiment_stuck_reason names the experiment.",
    ("reason",),
)

ROWS = (
    EXPERIMENTS,
    ACCELERATORS,
    NAMESPACE_EXPERIMENTS,
    NAMESPACE_STUCK,
    PHASE_DURATION,
    TIME_TO_ASSEMBLED,
    RESTART_DOWNTIME,
    GANG_RESTARTS,
    DISRUPTIONS,
    MEMBER_RESTARTS,
    CONTAINER_RESTARTS,
    RESTART_VERDICTS,
    OUTCOMES,
    NAMESPACE_OUTCOMES,
    NAMESPACE_SECONDS,
    NAMESPACE_ACCELERATOR_SECONDS,
    NAMESPACE_ACCELERATOR_LOST,
    REFUSALS,
)
