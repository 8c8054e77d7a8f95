"""Rows of incidents: the runs that one subject blocks. There are at most as many incidents as are shown."""

from muster.metrics.rows.experiment import ONE
from muster.metrics.rows.row import Metric

INCIDENT = ("kind", "subject", "cause", "scope", "audience")

RUNS = Metric(
    "muster_incident_runs",
    "Runs that are Stuck because of one subject. kind is node, rack, registry, webhook ...; cause is that "
    "of most ranks; scope is cluster or one namespace; audience is platform or researcher. 0 while a calm "
    "incident may return. At most 32.",
    INCIDENT,
)
RANKS = Metric("muster_incident_ranks", "Ranks of these runs that the subject blocks.", INCIDENT)
ACCELERATORS = Metric(
    "muster_incident_accelerators", "Accelerators that these runs hold, of all resources together.", INCIDENT
)
SINCE = Metric(
    "muster_incident_begin_timestamp_seconds",
    "When the first of these runs became Stuck, in seconds since 1970.",
    INCIDENT,
)
HIDDEN = Metric("muster_incidents_hidden", "Incidents beyond those that are shown. They explain no run.")
EXPLAINED = Metric("muster_experiment_explained", "1 while an incident explains why it is Stuck. Absent else.", ONE)
LOST = Metric(
    "muster_accelerator_stuck_seconds_total",
    "Accelerator-seconds that runs held while they were Stuck, by reason, counted while this daemon led.",
    ("resource", "reason"),
)
SUSPECT = Metric(
    "muster_node_suspect_runs",
    "Runs that failed on a suspect node in the last 12 to 24 hours (docs/incidents.md). At most 20 nodes.",
    ("node",),
)

ROWS = tuple(row for row in globals().values() if isinstance(row, Metric))
"""All of them, as they are above."""
