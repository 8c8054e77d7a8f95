"""Rows of the daemon itself: its watches, requests, probes, promptness, rights, and its part in the election."""

from muster.metrics.rows.row import Metric

_CALL = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_SHORT = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 5.0)

WATCH_STALENESS = Metric(
    "muster_watch_staleness_seconds",
    "Time since the watch last heard from the API server, bookmarks included.",
    ("resource",),
)
WATCH_SYNCED = Metric("muster_watch_synced", "1 once the first full list is in the cache.", ("resource",))
WATCH_RECONNECTS = Metric("muster_watch_reconnects_total", "Watches opened again, by reason.", ("resource", "reason"))
WATCH_RELISTS = Metric("muster_watch_relists_total", "Full lists taken after the first.", ("resource",))
WATCH_EVENTS = Metric("muster_watch_events_total", "Watch events received, bookmarks included.", ("resource", "type"))
WATCH_DECODE_ERRORS = Metric(
    "muster_watch_decode_errors_total", "Objects that could not be read and were skipped.", ("resource",)
)
TRACKED_PODS = Metric("muster_tracked_pods", "Pods in the cache.")
FOREIGN_PODS = Metric(
    "muster_foreign_pods",
    "Ignored pods that name an Experiment as their controller: no member of it (identity), or in another "
    "namespace (namespace). Members whose label or ownerReference was changed (altered): no other pod of the rank is "
    "created.",
    ("reason",),
)

QUEUE_DEPTH = Metric("muster_queue_depth", "Experiments waiting for a decision.")
QUEUE_WAIT = Metric("muster_queue_wait_seconds", "Time an experiment waited for a decision.", buckets=_CALL)
DECISION_DURATION = Metric("muster_decision_duration_seconds", "Time one decision took.", buckets=_SHORT)
LOOP_LAG = Metric(
    "muster_event_loop_lag_seconds", "How much later than asked the event loop woke its own timer.", buckets=_SHORT
)

API_REQUEST_DURATION = Metric(
    "muster_api_request_duration_seconds",
    "Requests to the API server, watches excepted.",
    ("verb", "resource", "outcome"),
    _CALL,
)
API_RETRIES = Metric(
    "muster_api_retries_total", "Requests sent again because the API server asked to wait.", ("verb", "resource")
)
PROBE_REQUESTS = Metric("muster_probe_requests_total", "Probes of coordinators, by what they saw.", ("kind", "state"))
PROBE_DURATION = Metric("muster_probe_duration_seconds", "Time one probe took.", ("kind",), _CALL)

PROGRESS_POSTS = Metric(
    "muster_progress_posts_total",
    "Answers of the progress endpoint: accepted, refused (of no member, or unreadable), too-many (over "
    "one a second), unavailable (no leader, or no check of the token). A standby that forwards a post "
    "counts it too.",
    ("outcome",),
)

RIGHTS_MISSING = Metric(
    "muster_rights_missing",
    "1 while the API server refuses a needed request for a missing right or token, else 0. Absent for "
    "optional rights, and if never refused.",
    ("verb", "resource"),
)

LEADER = Metric("muster_leader", "1 while this daemon leads, else 0.", ("identity",))
LEADER_SEEN = Metric(
    "muster_leader_seen", "1 while another daemon renews the Lease, whether or not that one is scraped."
)
LEADER_TRANSITIONS = Metric(
    "muster_leader_transitions_total",
    "How often this daemon became leader (acquired) and ceased to be: ousted by another, expired for a "
    "late renewal, or resigned at its end.",
    ("event",),
)
LEASE_RENEWAL_AGE = Metric(
    "muster_lease_renewal_age_seconds", "Time since the leader last renewed the Lease. Absent on a standby."
)

CLOCK = Metric("muster_clock_timestamp_seconds", "The wall clock by which this daemon writes times.")
CLOCK_STEPS = Metric(
    "muster_clock_steps_total", "Steps of the wall clock of 2 s or more; running clocks were moved by them."
)

INTERNAL_ERRORS = Metric(
    "muster_internal_errors_total",
    "Unexpected exceptions that one object caused, by place: watch, clock, step, event. Each is a bug.",
    ("place",),
)
LABEL_SETS_FOLDED = Metric(
    "muster_label_sets_folded_total",
    'Observations counted under "_other" because their metric had reached its limit of label sets.',
    ("metric",),
)
BUILD = Metric("muster_build_info", "Always 1.", ("version", "python"))

WATCHES = (
    WATCH_STALENESS,
    WATCH_SYNCED,
    WATCH_RECONNECTS,
    WATCH_RELISTS,
    WATCH_EVENTS,
    WATCH_DECODE_ERRORS,
    TRACKED_PODS,
    FOREIGN_PODS,
)
REQUESTS = (API_REQUEST_DURATION, API_RETRIES, RIGHTS_MISSING, PROBE_REQUESTS, PROBE_DURATION, PROGRESS_POSTS)
PROCESS = (
    QUEUE_DEPTH,
    QUEUE_WAIT,
    DECISION_DURATION,
    LOOP_LAG,
    CLOCK,
    CLOCK_STEPS,
    INTERNAL_ERRORS,
    LABEL_SETS_FOLDED,
    BUILD,
)
ELECTION = (LEADER, LEADER_SEEN, LEADER_TRANSITIONS, LEASE_RENEWAL_AGE)
