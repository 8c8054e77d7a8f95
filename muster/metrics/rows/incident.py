"""Rows of incidents: what one subject keeps, of many runs. At most as many as are shown."""

from muster.metrics.rows.experiment import ONE
from muster.metrics.rows.row import Metric

INCIDENT = ("kind", "subject", "cause", "scope", "audience")

RUNS = Metric(
    "muster_incident_runs",
    "Runs that one subject blocks (kind is node, rack, registry, webhook ...): they are Stuck because of it. cause is "
    "that of most of their ranks now. scope is cluster, or the namespace that all of them are of; audience is who can "
    "fix it: platform or researcher. 0 while an incident is calm and may return. At most 32 incidents are shown.",
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
    "seconds",
)
HIDDEN = Metric("muster_incidents_hidden", "Incidents beyond those that are shown. They explain no run.")
EXPLAINED = Metric(
    "muster_experiment_explained",
    "1 while an incident explains why it is Stuck: its alert replaces those of the run. Absent otherwise.",
    ONE,
)
LOST = Metric(
    "muster_accelerator_stuck_seconds_total",
    "Accelerator-seconds that runs held while they were Stuck, by its reason, counted while this daemon led. Divided "
    "by 3600 they are the accelerator-hours lost.",
    ("resource", "reason"),
    "seconds",
)
SUSPECT = Metric(
    "muster_node_suspect_runs",
    "Runs that failed on a node that is suspect, in the last 12 to 24 hours (docs/incidents.md). A proposal to look at "
    "it; nothing is done because of it. At most 20 nodes, those with most runs; absent for every other node.",
    ("node",),
)

ROWS = (RUNS, RANKS, ACCELERATORS, SINCE, HIDDEN, EXPLAINED, LOST, SUSPECT)
