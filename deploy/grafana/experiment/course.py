"""What the experiment has been through: restarts, goodput, answers of its coordinator, and clocks."""

from deploy.grafana.board import Row
from deploy.grafana.panels import listing, series
from deploy.grafana.parts import BLUE, CYAN, GREEN, ORANGE, RED, TIME_LEFT, Column, Head, Query, page, runbook
from deploy.grafana.promql import ONE, SPAN, goodput
from deploy.prometheus.recordings import FAILURES


def _of_each_clock(expr: str) -> str:
    """A value of each running clock, with what follows as the label ``action``."""
    follows = f"max by (clock, action) (muster_experiment_clock_action{{{ONE}}} == 1)"
    return f"{follows} * on (clock) group_left () ({expr})"


_FAILURES = f"max by (reason) (muster_experiment_restarts_total{{{ONE},{FAILURES}}})"

_LEFT = f"max by (clock) (muster_experiment_clock_remaining_seconds{{{ONE}}})"
_LIMIT = f"max by (clock) (muster_experiment_clock_limit_seconds{{{ONE}}})"

COURSE = Row(
    "Restarts and time",
    (
        series(
            Head(
                number=30,
                title="Restarts: failures and disruptions",
                description="Of the gang, of a job or of a member alone. Failures: a container that failed, a clock "
                "with action Restart. Disruptions: preemption, eviction, node loss, deleted pods. A restart that a "
                "person asked for is neither.",
                width=6,
                links=(runbook("MusterRestartStorm"), runbook("MusterDisruptionLoop")),
            ),
            [
                Query(
                    f"sum({_FAILURES}) or max(muster_experiment_gang_restarts_total{{{ONE}}}) * 0",
                    "failures",
                ),
                Query(f"max(muster_experiment_disruptions_total{{{ONE}}})", "disruptions"),
            ],
            "short",
            stacked=True,
            stepped=True,
            colors={"failures": RED, "disruptions": ORANGE},
        ),
        series(
            Head(
                number=34,
                title="Restarts by reason",
                description="The reason of the cause of each restart, over the life of the experiment: the first "
                "container that failed, the disruption, or the clock. Other is a reason that is rare.",
                width=6,
                links=(runbook("MusterRestartStorm"), page("guide.md#8-every-reason-and-what-to-do", "Every reason")),
            ),
            [Query(f"max by (reason) (muster_experiment_restarts_total{{{ONE}}}) > 0", "{{reason}}")],
            "short",
            stacked=True,
            stepped=True,
        ),
        series(
            Head(
                number=31,
                title="Epoch",
                description="The life of the gang: 0 at first, and one more with every restart and resumption. Steps "
                "that follow each other closely are a gang that does not hold.",
                width=4,
            ),
            [Query(f"max(muster_experiment_epoch{{{ONE}}})", "epoch")],
            "short",
            stepped=True,
            colors={"epoch": BLUE},
        ),
        series(
            Head(
                number=32,
                title="Goodput",
                description="Share of the time since the point before in which all ranks were there and running and it "
                "was not Stuck, and in which it waited for the admission of a queue.",
                width=4,
            ),
            [
                Query(goodput(ONE, SPAN), "goodput"),
                Query(goodput(ONE, SPAN, kind="queued"), "queued"),
            ],
            "percentunit",
            top=1,
            colors={"goodput": GREEN, "queued": CYAN},
        ),
        series(
            Head(
                number=33,
                title="Coordinator's answers",
                description="How long the last probe of the coordinator took. It grows before a coordinator stops "
                "answering.",
                width=4,
                links=(runbook("MusterCoordinatorStuck"),),
            ),
            [Query(f"max(muster_experiment_coordinator_probe_latency_seconds{{{ONE}}})", "answer")],
            "s",
        ),
        series(
            Head(
                number=40,
                title="Clocks: time that is left",
                description="Each running clock counts down to zero, where its action follows.",
                width=14,
                links=(runbook("MusterDeadlineNear"), page("guide.md#7-clocks", "Clocks")),
            ),
            [Query(_LEFT, "{{clock}}")],
            "dtdurations",
        ),
        listing(
            Head(
                number=41,
                title="Clocks",
                description="The clocks that run now: what follows, how much of each is left and what it was set to.",
                width=10,
                links=(runbook("MusterDeadlineNear"), page("guide.md#7-clocks", "Clocks")),
            ),
            [
                Column(
                    "runs out in",
                    _of_each_clock(_LEFT),
                    "dtdurations",
                    TIME_LEFT,
                ),
                Column("set to", _of_each_clock(_LIMIT), "dtdurations"),
                Column(
                    "used",
                    _of_each_clock(f"1 - {_LEFT} / {_LIMIT}"),
                    "percentunit",
                    ((None, GREEN), (0.75, ORANGE), (0.9, RED)),
                ),
            ],
            labels=("clock", "action"),
            empty="No clock runs.",
            sort="used",
        ),
    ),
)
