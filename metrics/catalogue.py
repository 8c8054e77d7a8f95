"""The catalogue: every metric Muster exports is one row here, and nothing exports what has no row.

Instruments and collectors are built from these rows, docs/metrics.md is printed from them, and a test scrapes all and
compares. Names follow the Prometheus conventions (prometheus.io, "Metric and label naming"): base units, ``_total``
on counters, ``_info`` on constants.

Cardinality is decided here too. Labels that name an experiment appear only on rows of the section ``Each experiment``:
those are read from the state at every scrape, so a deleted experiment leaves no series behind. Counters and histograms,
which live as long as the process, carry labels from small closed sets only.
"""

from muster.metrics.row import Metric, Section, Type

SERIES = 20_000
"""Series of all experiments together in one scrape."""

LABEL_SETS = 200
"""Label sets per counter or histogram; the closed sets that the labels come from need fewer than half."""

LONGEST = 253
"""Characters of a label value: the longest name Kubernetes allows (a DNS subdomain, RFC 1123)."""

INVALID = "_invalid"
"""The operator of experiments that cannot be planned: their spec may name any."""

OTHER = "_other"
"""The label value of everything that came after a metric had its fill."""

_MINUTE, _HOUR = 60.0, 3600.0
_LIFE = (1.0, 2.5, 5.0, 10.0, 30.0, *(n * _MINUTE for n in (1, 2, 5, 10, 30)), *(n * _HOUR for n in (1, 3, 12, 24)))
_CALL = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_SHORT = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 5.0)
_ONE = ("namespace", "experiment")

EXPERIMENTS = Metric(
    "muster_experiments", Type.GAUGE, "Experiments known to this daemon, by phase.", ("operator", "phase")
)
PHASE_DURATION = Metric(
    "muster_phase_duration_seconds",
    Type.HISTOGRAM,
    "Time an experiment spent in a phase, observed when it leaves the phase. Assembling is the wait for the roll.",
    ("operator", "phase"),
    "seconds",
    _LIFE,
)
GANG_RESTARTS = Metric(
    "muster_gang_restarts_total",
    Type.COUNTER,
    "Gang restarts by the reason of their cause. Includes the restarts that muster_disruptions_total counts.",
    ("operator", "reason"),
)
DISRUPTIONS = Metric(
    "muster_disruptions_total",
    Type.COUNTER,
    "Gang restarts after something done to the gang (preemption, eviction, node loss): they cost none of the budget.",
    ("operator", "reason"),
)
OUTCOMES = Metric(
    "muster_outcomes_total",
    Type.COUNTER,
    "Experiments that ended, by how (outcome is the final phase) and why.",
    ("operator", "outcome", "reason"),
)
REFUSALS = Metric(
    "muster_refusals_total",
    Type.COUNTER,
    "Requests for an experiment that the API server refused (quota, admission, rights, errors), by reason. "
    "muster_experiment_stuck names the experiment.",
    ("reason",),
)

INFO = Metric(
    "muster_experiment_info",
    Type.INFO,
    "Always 1. The only series a finished experiment keeps.",
    (*_ONE, "operator", "phase"),
)
RANKS_EXPECTED = Metric(
    "muster_experiment_ranks_expected", Type.GAUGE, "Ranks the plan asks for: the size of the gang.", _ONE
)
RANKS_ARRIVED = Metric(
    "muster_experiment_ranks_arrived",
    Type.GAUGE,
    "Ranks that have registered with the coordinator of this epoch or, where none can be asked, whose pod is ready.",
    _ONE,
)
RANKS_MISSING = Metric(
    "muster_experiment_ranks_missing",
    Type.GAUGE,
    "Ranks expected that have not arrived. Absent, as are the arrived, if the coordinator speaks of rank 0 only.",
    _ONE,
)
MEMBERS_READY = Metric("muster_experiment_members_ready", Type.GAUGE, "Pods of this epoch that are ready.", _ONE)
EPOCH = Metric(
    "muster_experiment_epoch", Type.GAUGE, "The life of the gang: 0, and one more with every gang restart.", _ONE
)
COORDINATOR_STATE = Metric(
    "muster_experiment_coordinator_state",
    Type.GAUGE,
    "1 for the state the last probe saw behind the coordinator's port. Absent until this epoch was probed.",
    (*_ONE, "state"),
)
COORDINATOR_LATENCY = Metric(
    "muster_experiment_coordinator_probe_latency_seconds",
    Type.GAUGE,
    "Time the last probe of the coordinator took.",
    _ONE,
    "seconds",
)
STUCK = Metric(
    "muster_experiment_stuck",
    Type.GAUGE,
    "1 while the condition Stuck is true, else 0; the reason is the condition's.",
    (*_ONE, "reason"),
)
CLOCK_REMAINING = Metric(
    "muster_experiment_clock_remaining_seconds",
    Type.GAUGE,
    "Time until a running clock runs out; negative once it has. Absent while the clock does not run.",
    (*_ONE, "clock"),
    "seconds",
)
UNREPORTED = Metric(
    "muster_experiments_unreported",
    Type.GAUGE,
    "Experiments without series of their own in this scrape: over the cap, under a name taken already, or unreadable.",
    ("reason",),
)

WATCH_STALENESS = Metric(
    "muster_watch_staleness_seconds",
    Type.GAUGE,
    "Time since the watch last heard from the API server, bookmarks included.",
    ("resource",),
    "seconds",
)
WATCH_SYNCED = Metric("muster_watch_synced", Type.GAUGE, "1 once the first full list is in the cache.", ("resource",))
WATCH_RECONNECTS = Metric(
    "muster_watch_reconnects_total", Type.COUNTER, "Watches opened again, by reason.", ("resource", "reason")
)
WATCH_RELISTS = Metric("muster_watch_relists_total", Type.COUNTER, "Full lists taken after the first.", ("resource",))
WATCH_EVENTS = Metric(
    "muster_watch_events_total", Type.COUNTER, "Watch events received, bookmarks included.", ("resource", "type")
)
WATCH_DECODE_ERRORS = Metric(
    "muster_watch_decode_errors_total",
    Type.COUNTER,
    "Objects that could not be read and were passed over.",
    ("resource",),
)
TRACKED_PODS = Metric("muster_tracked_pods", Type.GAUGE, "Pods in the cache.")
FOREIGN_PODS = Metric(
    "muster_foreign_pods",
    Type.GAUGE,
    "Pods in the cache that name an Experiment as their controller and are not members of it: they are in another "
    "namespace, or their name and labels (identity) are not those of a member. They are ignored.",
    ("reason",),
)

QUEUE_DEPTH = Metric("muster_queue_depth", Type.GAUGE, "Experiments waiting for a decision.")
QUEUE_WAIT = Metric(
    "muster_queue_wait_seconds",
    Type.HISTOGRAM,
    "Time from the first reason to decide about an experiment to the decision.",
    unit="seconds",
    buckets=_CALL,
)
DECISION_DURATION = Metric(
    "muster_decision_duration_seconds", Type.HISTOGRAM, "Time one decision took.", unit="seconds", buckets=_SHORT
)
LOOP_LAG = Metric(
    "muster_event_loop_lag_seconds",
    Type.HISTOGRAM,
    "How much later than asked the event loop woke its own timer.",
    unit="seconds",
    buckets=_SHORT,
)

API_REQUEST_DURATION = Metric(
    "muster_api_request_duration_seconds",
    Type.HISTOGRAM,
    "Requests to the API server, watches excepted.",
    ("verb", "resource", "outcome"),
    "seconds",
    _CALL,
)
API_RETRIES = Metric(
    "muster_api_retries_total",
    Type.COUNTER,
    "Requests sent again because the API server asked to wait.",
    ("verb", "resource"),
)
PROBE_REQUESTS = Metric(
    "muster_probe_requests_total", Type.COUNTER, "Probes of coordinators, by what they saw.", ("kind", "state")
)
PROBE_DURATION = Metric(
    "muster_probe_duration_seconds", Type.HISTOGRAM, "Time one probe took.", ("kind",), "seconds", _CALL
)

LEADER = Metric(
    "muster_leader",
    Type.GAUGE,
    "1 while this daemon leads, 0 while it stands by. Over all daemons the sum is 1, or 0 during a take-over.",
    ("identity",),
)
LEADER_TRANSITIONS = Metric(
    "muster_leader_transitions_total",
    Type.COUNTER,
    "How often this daemon became leader (acquired) and ceased to be: another held the Lease (ousted), it could not "
    "be renewed in time (expired), or the daemon ended and let go of it (resigned).",
    ("event",),
)
LEASE_RENEWAL_AGE = Metric(
    "muster_lease_renewal_age_seconds",
    Type.GAUGE,
    "Time since the leader sent its last successful renewal of the Lease. Absent on a standby.",
    unit="seconds",
)

CLOCK_STEPS = Metric(
    "muster_clock_steps_total",
    Type.COUNTER,
    "Steps of this machine's wall clock of 2 s or more; the running clocks of all experiments were moved by them.",
)

INTERNAL_ERRORS = Metric(
    "muster_internal_errors_total",
    Type.COUNTER,
    "Unexpected exceptions that one object caused, by place: watch, clock, step, event. Each is a bug; its experiment"
    " is tried again and the others go on.",
    ("place",),
)
LABEL_SETS_FOLDED = Metric(
    "muster_label_sets_folded_total",
    Type.COUNTER,
    'Observations counted under the label value "_other" because their metric had its fill of label sets.',
    ("metric",),
)
BUILD = Metric("muster_build_info", Type.INFO, "Always 1.", ("version", "python"))

SECTIONS = (
    Section(
        "All experiments",
        "Sums that stay small however many experiments there are.",
        (EXPERIMENTS, PHASE_DURATION, GANG_RESTARTS, DISRUPTIONS, OUTCOMES, REFUSALS),
    ),
    Section(
        "Each experiment",
        "Read from the state at every scrape: the series of an experiment begin and end with it. A suspended one "
        "has no ranks, a finished one keeps only its info series. A scrape holds at most "
        f"{SERIES:,} of these series; experiments beyond that, the finished ones first, have none and are counted in "
        "muster_experiments_unreported.",
        (
            INFO,
            RANKS_EXPECTED,
            RANKS_ARRIVED,
            RANKS_MISSING,
            MEMBERS_READY,
            EPOCH,
            COORDINATOR_STATE,
            COORDINATOR_LATENCY,
            STUCK,
            CLOCK_REMAINING,
            UNREPORTED,
        ),
    ),
    Section(
        "Watches",
        "Whether the daemon's picture of the cluster is complete and fresh.",
        (
            WATCH_STALENESS,
            WATCH_SYNCED,
            WATCH_RECONNECTS,
            WATCH_RELISTS,
            WATCH_EVENTS,
            WATCH_DECODE_ERRORS,
            TRACKED_PODS,
            FOREIGN_PODS,
        ),
    ),
    Section(
        "Requests and probes",
        "What the daemon asks of the API server and of coordinators.",
        (API_REQUEST_DURATION, API_RETRIES, PROBE_REQUESTS, PROBE_DURATION),
    ),
    Section(
        "The daemon",
        "How promptly it decides, and what it is.",
        (QUEUE_DEPTH, QUEUE_WAIT, DECISION_DURATION, LOOP_LAG, CLOCK_STEPS, INTERNAL_ERRORS, LABEL_SETS_FOLDED, BUILD),
    ),
    Section(
        "The election",
        "Only with `--leader-elect`. A standby has its watches, but no experiments and no queue.",
        (LEADER, LEADER_TRANSITIONS, LEASE_RENEWAL_AGE),
    ),
)

CATALOGUE = tuple(row for section in SECTIONS for row in section.rows)
