"""The daemon: whether musterd follows the cluster, decides promptly, and may do what it needs to."""

from collections.abc import Mapping

from deploy.grafana.marks import LEADERS, VERSIONS
from deploy.grafana.palette import BAD_FROM_ONE, STALENESS, Color, Steps
from deploy.grafana.promql import SPAN, quantile, quantiles
from deploy.grafana.row import Board, Choice, Column, Graph, Rows, Stack, Stat, Table

_LEADS: Steps = ((None, "gray"), (0, "red"), (1, "green"), (2, "red"))
_STALE = "muster_watch_staleness_seconds{@chosen}"


def _risen(counter: str, by: str, window: str = SPAN) -> str:
    return f"sum by ({by}) (increase({counter}{{@chosen}}[{window}]))"


def _rate(counter: str, by: str) -> str:
    return f"sum by ({by}) (rate({counter}{{@chosen}}[{SPAN}]))"


def _slow(histogram: str, by: str) -> str:
    return quantile(0.99, histogram, SPAN, "@chosen", by) + " > 0"


def _tails(histogram: str) -> Mapping[str, str]:
    return quantiles(histogram, SPAN, "@chosen", 99)


def _line(value: float, color: Color) -> Steps:
    return ((None, "transparent"), (value, color))


ROWS: Rows = (
    "Now",
    Stat(1, 3, "Leaders", {"{{@cluster}} {{shard}}": "sum by (@cluster, shard) (muster_leader)"}, steps=_LEADS,
        empty="no election", links="MusterNoLeader MusterDaemonDown MusterReplicaMissing MusterScrapesFail silent",
        about="Exactly one in each shard of a cluster with --leader-elect; zero for a few seconds while another "
        "daemon takes over. Without an election there is none, and one daemon must run."),
    Stat(2, 3, "Stalest watch", f"max({_STALE})", "s", STALENESS, decimals=0,
        links="MusterWatchStale MusterStandbyStale silent",
        about="Time since a watch last heard from the API server, bookmarks included: these come every minute, and "
        "after 90 s of silence a watch is opened again. Decisions and metrics may be as old."),
    Stat(3, 3, "Rights missing", "sum(muster_rights_missing{@chosen})", steps=BAD_FROM_ONE, empty="none",
        links="MusterRightsMissing silent",
        about="Requests that the API server refuses to musterd because a right is missing. The table names them."),
    Stat(4, 3, "Errors, one hour", "sum(increase(muster_internal_errors_total{@chosen}[1h]))", steps=BAD_FROM_ONE,
        decimals=0, empty="none", links="MusterInternalErrors",
        about="Unexpected exceptions that one object caused. Each is a bug; its experiment is tried again, and the "
        "others continue. The log has the traceback."),
    Stat(5, 3, "Queue depth", "sum(muster_queue_depth{@chosen})",
        steps=((None, "green"), (100, "yellow"), (1000, "orange")),
        about="Experiments that wait for a decision. It is zero most of the time; a queue that only grows means "
        "that the daemon is too slow or that a request hangs."),
    Stat(6, 3, "Without series", "sum(muster_experiments_unreported{@chosen})", steps=BAD_FROM_ONE,
        links="MusterScrapeCapReached",
        about="Experiments that have no series of their own in the scrape: over the cap of the scrape, under a name "
        "that is taken, or unreadable. No alert can fire for them."),
    Stat(7, 3, "Processor", "max(rate(process_cpu_seconds_total{@chosen}[5m]))", "percentunit",
        ((None, "green"), (0.5, "yellow"), (0.8, "red")), decimals=0,
        about="Share of one core over five minutes. musterd is one process with one event loop: near 1 it is late."),
    Stat(8, 3, "Version", {"{{version}}": "count by (version) (muster_build_info{@chosen})"}, "none", names={},
        about="The releases of musterd that run."),
    Table(9, 8, "Rights that are missing", "verb resource",
        (Column("instances", "count by (verb, resource) (muster_rights_missing{@chosen} == 1)"),),
        empty="No right is missing.", sort="resource", descending=False, links="MusterRightsMissing",
        about="What musterd may not do, and needs to. Apply the roles of the chart, or of deploy/musterd.yaml."),
    Table(10, 16, "Watches", "resource",
        (Column("synced", "min by (resource) (muster_watch_synced{@chosen})"),
         Column("heard ago", f"max by (resource) ({_STALE})", "s", ((None, "green"), (100, "orange"), (120, "red"))),
         Column("opened again", _risen("muster_watch_reconnects_total", "resource", "1h"), decimals=0),
         Column("listed again", _risen("muster_watch_relists_total", "resource", "1h"), decimals=0),
         Column("unreadable objects", _risen("muster_watch_decode_errors_total", "resource", "1h"),
             steps=BAD_FROM_ONE, decimals=0)),
        empty="No watch.", sort="heard ago", links="MusterWatchStale silent",
        about="Each watch: whether its first list is complete (1), how long ago it heard the API server, and how "
        "often it had to be opened again or listed again within the last hour."),
    "Its picture of the cluster",
    Graph(20, 8, "Age of the watches", {"{{resource}}": f"max by (resource) ({_STALE})"}, "s", steps=_line(120, "red"),
        links="MusterWatchStale", about="Time since each watch last heard from the API server, bookmarks included."),
    Stack(21, 8, "Watch events per second", {"{{resource}}": _rate("muster_watch_events_total", "resource")}, "ops",
        about="What the API server sends, bookmarks included."),
    Stack(22, 8, "Watches opened again, by reason",
        {"{{resource}}: {{reason}}": f"{_risen('muster_watch_reconnects_total', 'resource, reason')} > 0"},
        links="silent",
        about="A watch ends normally every few minutes; other reasons are trouble of the network or of the API "
        "server."),
    Graph(23, 6, "Pods in the cache",
        {"tracked": "max(muster_tracked_pods{@chosen})",
         "{{reason}}": "max by (reason) (muster_foreign_pods{@chosen})"},
        about="Pods that musterd tracks; ignored pods that name an Experiment as their controller (identity, "
        "namespace); members whose label or ownerReference was changed (altered)."),
    Stack(24, 6, "Experiments without series, by reason",
        {"{{reason}}": "sum by (reason) (muster_experiments_unreported{@chosen})"}, links="MusterScrapeCapReached",
        about="cap: the scrape is full, finished experiments are left out first. duplicate: two names are the same "
        "once they are printable. unreadable: a bug."),
    Graph(25, 6, "Age of the Lease renewal", {"renewal": "max(muster_lease_renewal_age_seconds)"}, "s",
        steps=_line(10, "red"), links="MusterNoLeader",
        about="Time since the leader renewed its Lease. At the renew deadline (10 s by default) it stops all work, "
        "and another daemon takes over."),
    Graph(26, 6, "Changes of the leader",
        {"{{event}}": f"sum by (event) (increase(muster_leader_transitions_total[{SPAN}]))"}, stepped=True,
        links="MusterLeaderChanges MusterNoLeader",
        about="How often, since the point before. acquired: a daemon began to lead. It ceased to: resigned (a "
        "normal end), expired (the Lease could not be renewed in time), ousted (another daemon held it). What a "
        "daemon did before its first scrape and after its last one is not counted."),
    "How promptly it decides",
    Graph(30, 8, "Wait for a decision", _tails("muster_queue_wait_seconds"), "s",
        about="From the first reason to decide about an experiment to the decision."),
    Graph(31, 8, "Time of a decision", _tails("muster_decision_duration_seconds"), "s",
        about="Decisions run on the event loop: a slow one delays all experiments."),
    Graph(32, 8, "Lag of the event loop", _tails("muster_event_loop_lag_seconds"), "s", steps=_line(0.02, "orange"),
        about="How much later than asked the event loop woke its own timer. The budget is 20 ms at the 99th "
        "percentile."),
    "Requests and probes",
    Stack(40, 8, "Requests to the API server by outcome",
        {"{{verb}}: {{outcome}}": _rate("muster_api_request_duration_seconds_count", "verb, outcome") + " > 0"},
        "reqps", about="Requests per second, watches excepted."),
    Graph(41, 8, "Duration of requests, 99th percentile",
        {"{{verb}} {{resource}}": _slow("muster_api_request_duration_seconds", "verb, resource")}, "s",
        about="By verb and resource. A create that takes seconds is mostly an admission webhook."),
    Stack(42, 8, "Requests that had to wait",
        {"{{verb}} {{resource}}": f"{_risen('muster_api_retries_total', 'verb, resource')} > 0"},
        about="Requests sent again because the API server asked to wait (429): musterd meets the limits of priority "
        "and fairness."),
    Stack(43, 8, "Probes per second by what they saw",
        {"{{kind}}: {{state}}": _rate("muster_probe_requests_total", "kind, state") + " > 0"}, "reqps",
        about="Probes of coordinators of all frameworks."),
    Graph(44, 8, "Duration of probes, 99th percentile", {"{{kind}}": _slow("muster_probe_duration_seconds", "kind")},
        "s", about="By the kind of coordinator."),
    Graph(45, 8, "Internal errors and steps of the clock",
        {"error: {{place}}": _risen("muster_internal_errors_total", "place"),
         "clock steps": f"sum(increase(muster_clock_steps_total{{@chosen}}[{SPAN}]))"}, links="MusterInternalErrors",
        about="Internal errors by the place that caught them, and steps of this machine's wall clock of 2 s or "
        "more. All are zero in a healthy daemon."),
    "The process",
    Graph(50, 8, "Processor", {"{{@cluster}} {{instance}}": f"rate(process_cpu_seconds_total{{@chosen}}[{SPAN}])"},
        "percentunit", about="Processor time of each daemon, as a share of one core."),
    Graph(51, 8, "Memory", {"{{@cluster}} {{instance}}": "process_resident_memory_bytes{@chosen}"}, "bytes",
        about="Resident memory. It grows with the pods that are tracked, by about 1 KB each."),
    Graph(52, 8, "Open files",
        {"{{@cluster}} {{instance}}: open": "process_open_fds{@chosen}",
         "{{@cluster}} {{instance}}: limit": "process_max_fds{@chosen}"},
        about="File descriptors, and how many the process may have. Connections to the API server and to "
        "coordinators are among them."),
)  # fmt: skip

DAEMON = Board(
    name="muster-daemon",
    title="Muster / Daemon",
    description="Whether musterd follows the cluster, decides promptly, and may do what it needs to.",
    choices=(Choice("instance", "Instance", "label_values(muster_build_info, instance)", many=True),),
    chosen='instance=~"$instance"',
    links="about runbooks silent",
    marks=(LEADERS, VERSIONS),
    rows=ROWS,
)
