"""What is wrong with musterd now."""

from deploy.grafana.board import Row
from deploy.grafana.daemon.instances import CHOSEN, SILENT
from deploy.grafana.panels import listing, single
from deploy.grafana.parts import BAD_FROM_ONE, GREEN, GREY, ORANGE, RED, YELLOW, Column, Head, Query, runbook

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
                links=(
                    *(
                        runbook(f"Muster{alert}")
                        for alert in ("NoLeader", "DaemonDown", "ReplicaMissing", "ScrapesFail")
                    ),
                    SILENT,
                ),
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
                links=(runbook("MusterWatchStale"), runbook("MusterStandbyStale"), SILENT),
            ),
            [Query(f"max(muster_watch_staleness_seconds{{{CHOSEN}}})")],
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
                links=(runbook("MusterRightsMissing"), SILENT),
            ),
            [Query(f"sum(muster_rights_missing{{{CHOSEN}}})")],
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
            [Query(f"sum(increase(muster_internal_errors_total{{{CHOSEN}}}[1h]))")],
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
            [Query(f"sum(muster_queue_depth{{{CHOSEN}}})")],
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
            [Query(f"sum(muster_experiments_unreported{{{CHOSEN}}})")],
            "short",
            BAD_FROM_ONE,
        ),
        single(
            Head(
                number=7,
                title="Processor",
                description="Share of one core over five minutes. musterd is one process with one event loop: near 1 "
                "it is late.",
                width=3,
            ),
            [Query(f"max(rate(process_cpu_seconds_total{{{CHOSEN}}}[5m]))")],
            "percentunit",
            ((None, GREEN), (0.5, YELLOW), (0.8, RED)),
            decimals=0,
        ),
        single(
            Head(number=8, title="Version", description="The releases of musterd that run.", width=3),
            [Query(f"count by (version) (muster_build_info{{{CHOSEN}}})", "{{version}}")],
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
            [Column("instances", f"count by (verb, resource) (muster_rights_missing{{{CHOSEN}}} == 1)", "short")],
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
                links=(runbook("MusterWatchStale"), SILENT),
            ),
            [
                Column("synced", f"min by (resource) (muster_watch_synced{{{CHOSEN}}})", "short"),
                Column(
                    "heard ago",
                    f"max by (resource) (muster_watch_staleness_seconds{{{CHOSEN}}})",
                    "s",
                    ((None, GREEN), (100, ORANGE), (120, RED)),
                ),
                Column(
                    "opened again",
                    f"sum by (resource) (increase(muster_watch_reconnects_total{{{CHOSEN}}}[1h]))",
                    "short",
                    decimals=0,
                ),
                Column(
                    "listed anew",
                    f"sum by (resource) (increase(muster_watch_relists_total{{{CHOSEN}}}[1h]))",
                    "short",
                    decimals=0,
                ),
                Column(
                    "unreadable objects",
                    f"sum by (resource) (increase(muster_watch_decode_errors_total{{{CHOSEN}}}[1h]))",
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
