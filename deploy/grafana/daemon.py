"""The daemon: whether musterd follows the cluster, decides promptly, and may do what it needs to."""

from collections.abc import Mapping

from deploy.grafana.links import ABOUT, SILENT
from deploy.grafana.marks import LEADERS, VERSIONS
from deploy.grafana.palette import BAD_FROM_ONE, GREEN, GREY, ORANGE, RED, STALENESS, YELLOW
from deploy.grafana.promql import SPAN, quantile
from deploy.grafana.row import Board, Choice, Column, Graph, Stat, Table
from deploy.grafana.shared import HOUR

CHOSEN = 'instance=~"$instance"'


def _risen(counter: str, by: str, window: str = SPAN) -> str:
    """How much a counter of the chosen instances rose within the window, summed by these labels."""
    return f"sum by ({by}) (increase({counter}{{{CHOSEN}}}[{window}]))"


def _rate(counter: str, by: str) -> str:
    """A rate of the chosen instances, summed by these labels."""
    return f"sum by ({by}) (rate({counter}{{{CHOSEN}}}[{SPAN}]))"


def _slow(histogram: str, by: str) -> str:
    """The 99th percentile of a histogram of the chosen instances, by these labels."""
    return quantile(0.99, histogram, SPAN, CHOSEN, by) + " > 0"


def _tails(histogram: str) -> Mapping[str, str]:
    """The median and the 99th percentile of a histogram of the chosen instances."""
    return {
        "median": quantile(0.5, histogram, SPAN, CHOSEN),
        "99th percentile": quantile(0.99, histogram, SPAN, CHOSEN),
    }


def _line(value: float, color: str) -> tuple[tuple[float | None, str], ...]:
    """A line at this value."""
    return ((None, "transparent"), (value, color))


NOW = (
    Stat(
        (1, 3, "Leaders"),
        "Exactly one in each shard of a cluster with --leader-elect; zero for a few seconds while another daemon takes "
        "over. Without an election there is none, and one daemon must run.",
        {"{{@cluster}} {{shard}}": "sum by (@cluster, shard) (muster_leader)"},
        steps=((None, GREY), (0, RED), (1, GREEN), (2, RED)),
        empty="no election",
        links=("MusterNoLeader", "MusterDaemonDown", "MusterReplicaMissing", "MusterScrapesFail", SILENT),
    ),
    Stat(
        (2, 3, "Stalest watch"),
        "Time since a watch last heard from the API server, bookmarks included: these come every minute, and after "
        "90 s of silence a watch is opened again. Decisions and metrics may be as old.",
        f"max(muster_watch_staleness_seconds{{{CHOSEN}}})",
        "s",
        STALENESS,
        decimals=0,
        links=("MusterWatchStale", "MusterStandbyStale", SILENT),
    ),
    Stat(
        (3, 3, "Rights missing"),
        "Requests that the API server refuses to musterd because a right is missing. The table names them.",
        f"sum(muster_rights_missing{{{CHOSEN}}})",
        steps=BAD_FROM_ONE,
        empty="none",
        links=("MusterRightsMissing", SILENT),
    ),
    Stat(
        (4, 3, "Errors, one hour"),
        "Unexpected exceptions that one object caused. Each is a bug; its experiment is tried again, and the others "
        "continue. The log has the traceback.",
        f"sum(increase(muster_internal_errors_total{{{CHOSEN}}}[{HOUR}]))",
        steps=BAD_FROM_ONE,
        decimals=0,
        empty="none",
        links=("MusterInternalErrors",),
    ),
    Stat(
        (5, 3, "Queue depth"),
        "Experiments that wait for a decision. It is zero most of the time; a queue that only grows means that the "
        "daemon is too slow or that a request hangs.",
        f"sum(muster_queue_depth{{{CHOSEN}}})",
        steps=((None, GREEN), (100, YELLOW), (1000, ORANGE)),
    ),
    Stat(
        (6, 3, "Without series"),
        "Experiments that have no series of their own in the scrape: over the cap of the scrape, under a name that is "
        "taken, or unreadable. No alert can fire for them.",
        f"sum(muster_experiments_unreported{{{CHOSEN}}})",
        steps=BAD_FROM_ONE,
        links=("MusterScrapeCapReached",),
    ),
    Stat(
        (7, 3, "Processor"),
        "Share of one core over five minutes. musterd is one process with one event loop: near 1 it is late.",
        f"max(rate(process_cpu_seconds_total{{{CHOSEN}}}[5m]))",
        "percentunit",
        ((None, GREEN), (0.5, YELLOW), (0.8, RED)),
        decimals=0,
    ),
    Stat(
        (8, 3, "Version"),
        "The releases of musterd that run.",
        {"{{version}}": f"count by (version) (muster_build_info{{{CHOSEN}}})"},
        "none",
        name_colors={},
    ),
    Table(
        (9, 8, "Rights that are missing"),
        "What musterd may not do, and needs to. Apply the roles of the chart, or of deploy/musterd.yaml.",
        (Column("instances", f"count by (verb, resource) (muster_rights_missing{{{CHOSEN}}} == 1)"),),
        labels=("verb", "resource"),
        empty="No right is missing.",
        sort="resource",
        descending=False,
        links=("MusterRightsMissing",),
    ),
    Table(
        (10, 16, "Watches"),
        "Each watch: whether its first list is complete (1), how long ago it heard the API server, and how often it "
        "had to be opened again or listed again within the last hour.",
        (
            Column("synced", f"min by (resource) (muster_watch_synced{{{CHOSEN}}})"),
            Column(
                "heard ago",
                f"max by (resource) (muster_watch_staleness_seconds{{{CHOSEN}}})",
                "s",
                ((None, GREEN), (100, ORANGE), (120, RED)),
            ),
            Column("opened again", _risen("muster_watch_reconnects_total", "resource", HOUR), decimals=0),
            Column("listed again", _risen("muster_watch_relists_total", "resource", HOUR), decimals=0),
            Column(
                "unreadable objects",
                _risen("muster_watch_decode_errors_total", "resource", HOUR),
                steps=BAD_FROM_ONE,
                decimals=0,
            ),
        ),
        labels=("resource",),
        empty="No watch.",
        sort="heard ago",
        links=("MusterWatchStale", SILENT),
    ),
)

WATCHES = (
    Graph(
        (20, 8, "Age of the watches"),
        "Time since each watch last heard from the API server, bookmarks included.",
        {"{{resource}}": f"max by (resource) (muster_watch_staleness_seconds{{{CHOSEN}}})"},
        "s",
        steps=_line(120, RED),
        links=("MusterWatchStale",),
    ),
    Graph(
        (21, 8, "Watch events per second"),
        "What the API server sends, bookmarks included.",
        {"{{resource}}": _rate("muster_watch_events_total", "resource")},
        "ops",
        stacked=True,
    ),
    Graph(
        (22, 8, "Watches opened again, by reason"),
        "A watch ends normally every few minutes; other reasons are trouble of the network or of the API server.",
        {"{{resource}}: {{reason}}": f"{_risen('muster_watch_reconnects_total', 'resource, reason')} > 0"},
        stacked=True,
        links=(SILENT,),
    ),
    Graph(
        (23, 6, "Pods in the cache"),
        "Pods that musterd tracks, and pods that name an Experiment as their controller without being members of it, "
        "which are ignored.",
        {
            "tracked": f"max(muster_tracked_pods{{{CHOSEN}}})",
            "ignored: {{reason}}": f"max by (reason) (muster_foreign_pods{{{CHOSEN}}})",
        },
    ),
    Graph(
        (24, 6, "Experiments without series, by reason"),
        "cap: the scrape is full, finished experiments are left out first. duplicate: two names are the same once they "
        "are printable. unreadable: a bug.",
        {"{{reason}}": f"sum by (reason) (muster_experiments_unreported{{{CHOSEN}}})"},
        stacked=True,
        links=("MusterScrapeCapReached",),
    ),
    Graph(
        (25, 6, "Age of the Lease renewal"),
        "Time since the leader renewed its Lease. At the renew deadline (10 s by default) it stops all work, and "
        "another daemon takes over.",
        {"renewal": "max(muster_lease_renewal_age_seconds)"},
        "s",
        steps=_line(10, RED),
        links=("MusterNoLeader",),
    ),
    Graph(
        (26, 6, "Changes of the leader"),
        "How often, since the point before. acquired: a daemon began to lead. It ceased to: resigned (a normal end), "
        "expired (the Lease could not be renewed in time), ousted (another daemon held it). What a daemon did before "
        "its first scrape and after its last one is not counted.",
        {"{{event}}": f"sum by (event) (increase(muster_leader_transitions_total[{SPAN}]))"},
        stepped=True,
        links=("MusterLeaderChanges", "MusterNoLeader"),
    ),
)

PROMPT = (
    Graph(
        (30, 8, "Wait for a decision"),
        "From the first reason to decide about an experiment to the decision.",
        _tails("muster_queue_wait_seconds"),
        "s",
    ),
    Graph(
        (31, 8, "Time of a decision"),
        "Decisions run on the event loop: a slow one delays all experiments.",
        _tails("muster_decision_duration_seconds"),
        "s",
    ),
    Graph(
        (32, 8, "Lag of the event loop"),
        "How much later than asked the event loop woke its own timer. The budget is 20 ms at the 99th percentile.",
        _tails("muster_event_loop_lag_seconds"),
        "s",
        steps=_line(0.02, ORANGE),
    ),
)

REQUESTS = (
    Graph(
        (40, 8, "Requests to the API server by outcome"),
        "Requests per second, watches excepted.",
        {"{{verb}}: {{outcome}}": _rate("muster_api_request_duration_seconds_count", "verb, outcome") + " > 0"},
        "reqps",
        stacked=True,
    ),
    Graph(
        (41, 8, "Duration of requests, 99th percentile"),
        "By verb and resource. A create that takes seconds is mostly an admission webhook.",
        {"{{verb}} {{resource}}": _slow("muster_api_request_duration_seconds", "verb, resource")},
        "s",
    ),
    Graph(
        (42, 8, "Requests that had to wait"),
        "Requests sent again because the API server asked to wait (429): musterd meets the limits of priority and "
        "fairness.",
        {"{{verb}} {{resource}}": f"{_risen('muster_api_retries_total', 'verb, resource')} > 0"},
        stacked=True,
    ),
    Graph(
        (43, 8, "Probes per second by what they saw"),
        "Probes of coordinators of all frameworks.",
        {"{{kind}}: {{state}}": _rate("muster_probe_requests_total", "kind, state") + " > 0"},
        "reqps",
        stacked=True,
    ),
    Graph(
        (44, 8, "Duration of probes, 99th percentile"),
        "By the kind of coordinator.",
        {"{{kind}}": _slow("muster_probe_duration_seconds", "kind")},
        "s",
    ),
    Graph(
        (45, 8, "Internal errors and steps of the clock"),
        "Internal errors by the place that caught them, and steps of this machine's wall clock of 2 s or more. All are "
        "zero in a healthy daemon.",
        {
            "error: {{place}}": _risen("muster_internal_errors_total", "place"),
            "clock steps": f"sum(increase(muster_clock_steps_total{{{CHOSEN}}}[{SPAN}]))",
        },
        links=("MusterInternalErrors",),
    ),
)

PROCESS = (
    Graph(
        (50, 8, "Processor"),
        "Processor time of each daemon, as a share of one core.",
        {"{{@cluster}} {{instance}}": f"rate(process_cpu_seconds_total{{{CHOSEN}}}[{SPAN}])"},
        "percentunit",
    ),
    Graph(
        (51, 8, "Memory"),
        "Resident memory. It grows with the pods that are tracked, by about 1 KB each.",
        {"{{@cluster}} {{instance}}": f"process_resident_memory_bytes{{{CHOSEN}}}"},
        "bytes",
    ),
    Graph(
        (52, 8, "Open files"),
        "File descriptors, and how many the process may have. Connections to the API server and to coordinators are "
        "among them.",
        {
            "{{@cluster}} {{instance}}: open": f"process_open_fds{{{CHOSEN}}}",
            "{{@cluster}} {{instance}}: limit": f"process_max_fds{{{CHOSEN}}}",
        },
    ),
)

DAEMON = Board(
    name="muster-daemon",
    title="Muster / Daemon",
    description="Whether musterd follows the cluster, decides promptly, and may do what it needs to.",
    choices=(Choice("instance", "Instance", "label_values(muster_build_info, instance)", many=True),),
    rows={
        "Now": NOW,
        "Its picture of the cluster": WATCHES,
        "How promptly it decides": PROMPT,
        "Requests and probes": REQUESTS,
        "The process": PROCESS,
    },
    links=(*ABOUT, SILENT),
    marks=(LEADERS, VERSIONS),
)
