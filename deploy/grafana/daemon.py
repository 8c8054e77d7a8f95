"""The daemon: whether musterd follows the cluster, decides promptly, and may do what it needs to."""

from deploy.grafana.board import Board, Row, variable
from deploy.grafana.panels import listing, series, single
from deploy.grafana.parts import (
    BAD_FROM_ONE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    YELLOW,
    Column,
    Head,
    Query,
    page,
    runbook,
)
from deploy.grafana.promql import quantile

_CHOSEN = 'instance=~"$instance"'
_WINDOW = "5m"
_SILENT = page("guide.md#9-when-muster-itself-is-silent", "When Muster itself is silent")


def _rate(metric: str, by: str, window: str = _WINDOW) -> str:
    return f"sum by ({by}) (rate({metric}{{{_CHOSEN}}}[{window}]))"


def _tails(histogram: str) -> list[Query]:
    """The median and the 99th percentile of a histogram of the chosen instances."""
    return [
        Query(quantile(0.5, histogram, _WINDOW, _CHOSEN), "median"),
        Query(quantile(0.99, histogram, _WINDOW, _CHOSEN), "99th percentile"),
    ]


NOW = Row(
    "Now",
    (
        single(
            Head(
                number=1,
                title="Leaders",
                description="Exactly one with --leader-elect; zero for a few seconds while another daemon takes over. "
                "Without an election there is none, and one daemon must run.",
                width=3,
                links=(runbook("MusterNoLeader"), runbook("MusterDaemonDown"), _SILENT),
            ),
            [Query("sum(muster_leader)")],
            "short",
            ((None, GREY), (0, RED), (1, GREEN), (2, RED)),
            empty="no election",
        ),
        single(
            Head(
                number=2,
                title="Stalest watch",
                description="Time since a watch last heard from the API server, bookmarks included: these come every "
                "minute, and after 90 s of silence a watch is opened anew. Decisions and metrics may be as old.",
                width=3,
                links=(runbook("MusterWatchStale"), _SILENT),
            ),
            [Query(f"max(muster_watch_staleness_seconds{{{_CHOSEN}}})")],
            "s",
            ((None, GREEN), (100, YELLOW), (120, RED)),
            decimals=0,
        ),
        single(
            Head(
                number=3,
                title="Rights missing",
                description="Requests that the API server refuses to musterd for want of a right. The table names "
                "them.",
                width=3,
                links=(runbook("MusterRightsMissing"), _SILENT),
            ),
            [Query(f"sum(muster_rights_missing{{{_CHOSEN}}})")],
            "short",
            BAD_FROM_ONE,
            empty="none",
        ),
        single(
            Head(
                number=4,
                title="Errors, last hour",
                description="Unexpected exceptions that one object caused. Each is a bug; its experiment is tried "
                "again, and the others go on. The log has the traceback.",
                width=3,
                links=(runbook("MusterInternalErrors"),),
            ),
            [Query(f"sum(increase(muster_internal_errors_total{{{_CHOSEN}}}[1h]))")],
            "short",
            BAD_FROM_ONE,
            decimals=0,
            empty="none",
        ),
        single(
            Head(
                number=5,
                title="Queue depth",
                description="Experiments that wait for a decision. It is zero most of the time; a queue that only "
                "grows means that the daemon is too slow or that a request hangs.",
                width=3,
            ),
            [Query(f"sum(muster_queue_depth{{{_CHOSEN}}})")],
            "short",
            ((None, GREEN), (100, YELLOW), (1000, ORANGE)),
        ),
        single(
            Head(
                number=6,
                title="Without series",
                description="Experiments that have no series of their own in the scrape: over the cap of the scrape, "
                "under a name that is taken, or unreadable. No alert can fire for them.",
                width=3,
                links=(runbook("MusterScrapeCapReached"),),
            ),
            [Query(f"sum(muster_experiments_unreported{{{_CHOSEN}}})")],
            "short",
            BAD_FROM_ONE,
        ),
        single(
            Head(
                number=7,
                title="Processor",
                description="Share of one core. musterd is one process with one event loop: near 1 it is late.",
                width=3,
            ),
            [Query(f"max(rate(process_cpu_seconds_total{{{_CHOSEN}}}[{_WINDOW}]))")],
            "percentunit",
            ((None, GREEN), (0.5, YELLOW), (0.8, RED)),
            decimals=0,
        ),
        single(
            Head(number=8, title="Version", description="The releases of musterd that run.", width=3),
            [Query(f"count by (version) (muster_build_info{{{_CHOSEN}}})", "{{version}}")],
            "none",
            name_colors={},
        ),
        listing(
            Head(
                number=9,
                title="Rights that are missing",
                description="What musterd may not do, and needs to. Apply the roles of the chart, or of "
                "deploy/musterd.yaml.",
                width=8,
                links=(runbook("MusterRightsMissing"),),
            ),
            [Column("instances", f"count by (verb, resource) (muster_rights_missing{{{_CHOSEN}}} == 1)", "short")],
            labels=("verb", "resource"),
            empty="No right is missing.",
            sort="resource",
            descending=False,
        ),
        listing(
            Head(
                number=10,
                title="Watches",
                description="Each watch: whether its first list is complete (1), how long ago it heard the API server, "
                "and how often it had to be opened again or listed anew within the last hour.",
                width=16,
                links=(runbook("MusterWatchStale"), _SILENT),
            ),
            [
                Column("synced", f"min by (resource) (muster_watch_synced{{{_CHOSEN}}})", "short"),
                Column(
                    "heard ago",
                    f"max by (resource) (muster_watch_staleness_seconds{{{_CHOSEN}}})",
                    "s",
                    ((None, GREEN), (100, ORANGE), (120, RED)),
                ),
                Column(
                    "opened again",
                    f"sum by (resource) (increase(muster_watch_reconnects_total{{{_CHOSEN}}}[1h]))",
                    "short",
                    decimals=0,
                ),
                Column(
                    "listed anew",
                    f"sum by (resource) (increase(muster_watch_relists_total{{{_CHOSEN}}}[1h]))",
                    "short",
                    decimals=0,
                ),
                Column(
                    "unreadable objects",
                    f"sum by (resource) (increase(muster_watch_decode_errors_total{{{_CHOSEN}}}[1h]))",
                    "short",
                    ((None, GREEN), (1, RED)),
                    0,
                ),
            ],
            labels=("resource",),
            empty="No watch.",
            sort="heard ago",
        ),
    ),
)

PICTURE = Row(
    "Its picture of the cluster",
    (
        series(
            Head(
                number=20,
                title="Age of the watches",
                description="Time since each watch last heard from the API server, bookmarks included.",
                width=8,
                links=(runbook("MusterWatchStale"),),
            ),
            [Query(f"max by (resource) (muster_watch_staleness_seconds{{{_CHOSEN}}})", "{{resource}}")],
            "s",
            steps=((None, "transparent"), (120, RED)),
        ),
        series(
            Head(
                number=21,
                title="Watch events per second",
                description="What the API server sends, bookmarks included.",
                width=8,
            ),
            [Query(_rate("muster_watch_events_total", "resource"), "{{resource}}")],
            "ops",
            stacked=True,
        ),
        series(
            Head(
                number=22,
                title="Watches opened again, by reason",
                description="A watch ends normally every few minutes; other reasons are trouble of the network or of "
                "the API server.",
                width=8,
                links=(_SILENT,),
            ),
            [
                Query(
                    f"sum by (resource, reason) (increase(muster_watch_reconnects_total{{{_CHOSEN}}}[{_WINDOW}])) > 0",
                    "{{resource}}: {{reason}}",
                )
            ],
            "short",
            stacked=True,
        ),
        series(
            Head(
                number=23,
                title="Pods in the cache",
                description="Pods that musterd tracks, and pods that name an Experiment as their controller without "
                "being members of it, which are ignored.",
                width=6,
            ),
            [
                Query(f"max(muster_tracked_pods{{{_CHOSEN}}})", "tracked"),
                Query(f"max by (reason) (muster_foreign_pods{{{_CHOSEN}}})", "ignored: {{reason}}"),
            ],
            "short",
        ),
        series(
            Head(
                number=24,
                title="Experiments without series, by reason",
                description="cap: the scrape is full, finished experiments are left out first. duplicate: two names "
                "are the same once they are printable. unreadable: a bug.",
                width=6,
                links=(runbook("MusterScrapeCapReached"),),
            ),
            [Query(f"sum by (reason) (muster_experiments_unreported{{{_CHOSEN}}})", "{{reason}}")],
            "short",
            stacked=True,
        ),
        series(
            Head(
                number=25,
                title="Age of the Lease renewal",
                description="Time since the leader renewed its Lease. At the renew deadline (10 s by default) it stops "
                "all work, and another daemon takes over.",
                width=6,
                links=(runbook("MusterNoLeader"),),
            ),
            [Query("max(muster_lease_renewal_age_seconds)", "renewal")],
            "s",
            steps=((None, "transparent"), (10, RED)),
        ),
        series(
            Head(
                number=26,
                title="Changes of the leader",
                description="acquired: this daemon began to lead. It ceased to: resigned (a normal end), expired (the "
                "Lease could not be renewed in time), ousted (another daemon held it).",
                width=6,
                links=(runbook("MusterNoLeader"),),
            ),
            [Query("sum by (event) (muster_leader_transitions_total)", "{{event}}")],
            "short",
            stepped=True,
        ),
    ),
)

PROMPT = Row(
    "How promptly it decides",
    (
        series(
            Head(
                number=30,
                title="Wait for a decision",
                description="From the first reason to decide about an experiment to the decision.",
                width=8,
            ),
            _tails("muster_queue_wait_seconds"),
            "s",
        ),
        series(
            Head(
                number=31,
                title="Time of a decision",
                description="Decisions run on the event loop: a slow one delays all experiments.",
                width=8,
            ),
            _tails("muster_decision_duration_seconds"),
            "s",
        ),
        series(
            Head(
                number=32,
                title="Lag of the event loop",
                description="How much later than asked the event loop woke its own timer. The budget is 20 ms at the "
                "99th percentile.",
                width=8,
            ),
            _tails("muster_event_loop_lag_seconds"),
            "s",
            steps=((None, "transparent"), (0.02, ORANGE)),
        ),
    ),
)

REQUESTS = Row(
    "Requests and probes",
    (
        series(
            Head(
                number=40,
                title="Requests to the API server by outcome",
                description="Requests per second, watches excepted.",
                width=8,
            ),
            [
                Query(
                    _rate("muster_api_request_duration_seconds_count", "verb, outcome") + " > 0",
                    "{{verb}}: {{outcome}}",
                )
            ],
            "reqps",
            stacked=True,
        ),
        series(
            Head(
                number=41,
                title="Duration of requests, 99th percentile",
                description="By verb and resource. A create that takes seconds is mostly an admission webhook.",
                width=8,
            ),
            [
                Query(
                    quantile(0.99, "muster_api_request_duration_seconds", _WINDOW, _CHOSEN, "verb, resource") + " > 0",
                    "{{verb}} {{resource}}",
                )
            ],
            "s",
        ),
        series(
            Head(
                number=42,
                title="Requests that had to wait",
                description="Requests sent again because the API server asked to wait (429): musterd meets the limits "
                "of priority and fairness.",
                width=8,
            ),
            [
                Query(
                    f"sum by (verb, resource) (increase(muster_api_retries_total{{{_CHOSEN}}}[{_WINDOW}])) > 0",
                    "{{verb}} {{resource}}",
                )
            ],
            "short",
            stacked=True,
        ),
        series(
            Head(
                number=43,
                title="Probes per second by what they saw",
                description="Probes of coordinators of all frameworks.",
                width=8,
            ),
            [Query(_rate("muster_probe_requests_total", "kind, state") + " > 0", "{{kind}}: {{state}}")],
            "reqps",
            stacked=True,
        ),
        series(
            Head(
                number=44,
                title="Duration of probes, 99th percentile",
                description="By the kind of coordinator.",
                width=8,
            ),
            [Query(quantile(0.99, "muster_probe_duration_seconds", _WINDOW, _CHOSEN, "kind") + " > 0", "{{kind}}")],
            "s",
        ),
        series(
            Head(
                number=45,
                title="Internal errors and steps of the clock",
                description="Internal errors by the place that caught them, and steps of this machine's wall clock of "
                "2 s or more. All are zero in a healthy daemon.",
                width=8,
                links=(runbook("MusterInternalErrors"),),
            ),
            [
                Query(
                    f"sum by (place) (increase(muster_internal_errors_total{{{_CHOSEN}}}[{_WINDOW}]))",
                    "error: {{place}}",
                ),
                Query(f"sum(increase(muster_clock_steps_total{{{_CHOSEN}}}[{_WINDOW}]))", "clock steps"),
            ],
            "short",
        ),
    ),
)

PROCESS = Row(
    "The process",
    (
        series(
            Head(
                number=50,
                title="Processor",
                description="Processor time of each daemon, as a share of one core.",
                width=8,
            ),
            [Query(f"rate(process_cpu_seconds_total{{{_CHOSEN}}}[{_WINDOW}])", "{{instance}}")],
            "percentunit",
        ),
        series(
            Head(
                number=51,
                title="Memory",
                description="Resident memory. It grows with the pods that are tracked, by about 1 KB each.",
                width=8,
            ),
            [Query(f"process_resident_memory_bytes{{{_CHOSEN}}}", "{{instance}}")],
            "bytes",
        ),
        series(
            Head(
                number=52,
                title="Open files",
                description="File descriptors, and how many the process may have. Connections to the API server and "
                "to coordinators are among them.",
                width=8,
            ),
            [
                Query(f"process_open_fds{{{_CHOSEN}}}", "{{instance}}: open"),
                Query(f"process_max_fds{{{_CHOSEN}}}", "{{instance}}: limit"),
            ],
            "short",
        ),
    ),
)

DAEMON = Board(
    name="muster-daemon",
    title="Muster / Daemon",
    description="Whether musterd follows the cluster, decides promptly, and may do what it needs to.",
    variables=(variable("instance", "Instance", "label_values(muster_build_info, instance)", many=True),),
    rows=(NOW, PICTURE, PROMPT, REQUESTS, PROCESS),
    links=(page("dashboards.md", "About these dashboards"), page("runbooks", "Runbooks"), _SILENT),
)
