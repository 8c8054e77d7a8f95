"""The catalogue: every metric Muster exports is one row here, and nothing exports what has no row.

Instruments and collectors are built from these rows, docs/metrics.md is printed from them, and tests scrape all and
compare. Names follow the Prometheus conventions (prometheus.io, "Metric and label naming"): base units, ``_total``
on counters, ``_info`` on constants.

Cardinality is decided here too. Labels that name an experiment appear only on the rows of ``rows.experiment``: those
are read from the state at every scrape, so a deleted experiment leaves no series behind. Other counters and histograms
live as long as the process, and carry labels from small closed sets only; the one that names namespaces has as many as
``NAMESPACES``.
"""

from muster.api.manifest.operators import operators
from muster.metrics.rows import daemon, experiment, fleet, incident
from muster.metrics.rows.row import Section

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
