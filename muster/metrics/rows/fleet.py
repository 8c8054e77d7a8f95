"""Rows of all experiments together: sums that stay small however many experiments there are."""

from muster.metrics.rows.row import Metric

_MINUTE, _HOUR = 60.0, 3600.0
LIFE = (1.0, 2.5, 5.0, 10.0, 30.0, *(n * _MINUTE for n in (1, 2, 5, 10, 30)), *(n * _HOUR for n in (1, 3, 12, 24)))
"""Buckets, in seconds, of what an experiment goes through."""

EXPERIMENTS = Metric("muster_experiments", "Experiments known to this daemon, by phase.", ("operator", "phase"))
ACCELERATORS = Metric(
    "muster_accelerators",
    "Accelerators that the pods of all experiments hold (held), and those of stuck experiments (stuck, a "
    "part of held).",
    ("resource", "state"),
)
NAMESPACE_EXPERIMENTS = Metric(
    "muster_namespace_experiments",
    "Unfinished experiments of a namespace by phase, also those without series of their own. Absent for "
    "an empty phase. Beyond 1,000 namespaces the others are _other.",
    ("namespace", "phase"),
)
NAMESPACE_STUCK = Metric("muster_namespace_experiments_stuck", "Those of them that are Stuck.", ("namespace",))
PHASE_DURATION = Metric(
    "muster_phase_duration_seconds", "Time in a phase, observed at its end.", ("operator", "phase"), LIFE
)
TIME_TO_ASSEMBLED = Metric(
    "muster_time_to_assembled_seconds",
    "Time from the first pod of an epoch until its roll was seen complete.",
    ("operator",),
    LIFE,
)
RESTART_DOWNTIME = Metric(
    "muster_restart_downtime_seconds",
    "Time from the failure or disruption until the roll was complete again.",
    ("operator",),
    LIFE,
)
GANG_RESTARTS = Metric(
    "muster_gang_restarts_total",
    "Gang restarts by reason, those after disruptions included.",
    ("operator", "reason"),
)
DISRUPTIONS = Metric(
    "muster_disruptions_total",
    "Disruptions (preemption, eviction, node loss), of a member alone too.",
    ("operator", "reason"),
)
MEMBER_RESTARTS = Metric(
    "muster_member_restarts_total",
    "Members that ran again while their epoch continued, by the reason of the failure. Of pods that a Job "
    "of a JobSet replaces at once, it is the reason of the first.",
    ("operator", "reason"),
)
CONTAINER_RESTARTS = Metric(
    "muster_container_restarts_total",
    "Restarts of containers by the kubelet, by reason: OOMKilled, Error, Completed or Other.",
    ("operator", "reason"),
)
RESTART_VERDICTS = Metric(
    "muster_restart_verdicts_total",
    "SameFailureAgain: the gang failed in the same way again, without an advance; enforced is whether "
    "that ended the experiment. BudgetRenewed: it made progress, and earlier restarts count no more.",
    ("verdict", "enforced"),
)
OUTCOMES = Metric(
    "muster_outcomes_total",
    "Experiments that ended, by final phase (outcome) and reason.",
    ("operator", "outcome", "reason"),
)
NAMESPACE_OUTCOMES = Metric(
    "muster_namespace_outcomes_total",
    "Experiments that ended, by namespace and final phase. Beyond 100 namespaces: _other.",
    ("namespace", "operator", "outcome"),
)
NAMESPACE_SECONDS = Metric(
    "muster_namespace_seconds_total",
    "Time of all runs by bucket: productive, those of muster_experiment_badput_seconds_total, and taken_back (of "
    "productive). Counted while this daemon leads, without suspended time.",
    ("namespace", "operator", "bucket"),
)
NAMESPACE_ACCELERATOR_SECONDS = Metric(
    "muster_namespace_accelerator_seconds_total",
    "The same, multiplied by the accelerators held.",
    ("namespace", "operator", "resource", "bucket"),
)
NAMESPACE_ACCELERATOR_LOST = Metric(
    "muster_namespace_accelerator_lost_seconds_total",
    "The part of it in the buckets stuck, recovery and lost, by cause: the reason of Stuck, or of the end "
    "of the last epoch.",
    ("namespace", "operator", "resource", "cause"),
)
OWNER_ACCELERATOR_SECONDS = Metric(
    "muster_owner_accelerator_seconds_total",
    "The same by the value (owner) of each label of the setting owner_labels (label_team); beyond 100 values _other.",
    ("label", "owner", "resource", "bucket"),
)
OWNER_ACCELERATOR_LOST = Metric(
    "muster_owner_accelerator_lost_seconds_total",
    "What of it was lost, by cause.",
    ("label", "owner", "resource", "cause"),
)
REFUSALS = Metric(
    "muster_refusals_total", "Requests for an experiment that the API server refused, by reason.", ("reason",)
)

ROWS = tuple(row for row in globals().values() if isinstance(row, Metric))
"""All of them, as they are above."""
