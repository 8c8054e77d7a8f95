"""How musterd follows the cluster, and its part in the election."""

from deploy.grafana.board import Row
from deploy.grafana.daemon.instances import CHOSEN, SILENT, rate
from deploy.grafana.panels import series
from deploy.grafana.parts import RED, Head, Query, runbook
from deploy.grafana.promql import SPAN

WATCHES = Row(
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
            [Query(f"max by (resource) (muster_watch_staleness_seconds{{{CHOSEN}}})", "{{resource}}")],
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
            [Query(rate("muster_watch_events_total", "resource"), "{{resource}}")],
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
                links=(SILENT,),
            ),
            [
                Query(
                    f"sum by (resource, reason) (increase(muster_watch_reconnects_total{{{CHOSEN}}}[{SPAN}])) > 0",
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
                Query(f"max(muster_tracked_pods{{{CHOSEN}}})", "tracked"),
                Query(f"max by (reason) (muster_foreign_pods{{{CHOSEN}}})", "ignored: {{reason}}"),
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
            [Query(f"sum by (reason) (muster_experiments_unreported{{{CHOSEN}}})", "{{reason}}")],
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
                description="How often, since the point before. acquired: a daemon began to lead. It ceased to: "
                "resigned (a normal end), expired (the Lease could not be renewed in time), ousted (another daemon "
                "held it). What a daemon did before its first scrape and after its last one is not counted.",
                width=6,
                links=(runbook("MusterLeaderChanges"), runbook("MusterNoLeader")),
            ),
            [Query(f"sum by (event) (increase(muster_leader_transitions_total[{SPAN}]))", "{{event}}")],
            "short",
            stepped=True,
        ),
    ),
)
