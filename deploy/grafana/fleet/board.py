"""Fleet: which experiments need a person now, and how well the cluster does."""

from deploy.grafana.alerts import alerts
from deploy.grafana.board import Board, Row, variable
from deploy.grafana.fleet.trends import TRENDS
from deploy.grafana.marks import LEADERS
from deploy.grafana.panels import listing, series, single
from deploy.grafana.parts import (
    BAD_FROM_ONE,
    GOODPUT,
    GREEN,
    ORANGE,
    RED,
    TIME_LEFT,
    YELLOW,
    Column,
    Head,
    Query,
    page,
    runbook,
)
from deploy.grafana.promql import CHOSEN, PAIR, SPAN, each, goodput, has_run, stuck_reasons
from deploy.grafana.to_experiment import NAMES, TO_EXPERIMENT

_RUNNING = f'{CHOSEN},phase="Running"'
_STUCK = stuck_reasons(CHOSEN)


def _of_stuck(value: str) -> str:
    """A value of each stuck experiment, with the label ``reason``."""
    return f"({value}) * on ({PAIR}) group_right () ({_STUCK})"


NOW = Row(
    "Now: experiments of the namespaces chosen",
    (
        single(
            Head(
                number=1,
                title="Stuck experiments",
                description="Experiments whose condition Stuck is true: each needs a person. The table names them.",
                width=4,
                links=(runbook("MusterExperimentStuck"),),
            ),
            [Query(f"sum(muster_experiment_stuck{{{CHOSEN}}})")],
            "short",
            BAD_FROM_ONE,
        ),
        single(
            Head(
                number=2,
                title="Ranks missing",
                description="Ranks that are expected and have not arrived, over all experiments. Above zero while "
                "gangs assemble; the panel below gives the causes.",
                width=4,
                links=(runbook("MusterRankMissing"),),
            ),
            [Query(f"sum(muster_experiment_ranks_missing{{{CHOSEN}}})")],
            "short",
            ((None, GREEN), (1, YELLOW)),
        ),
        single(
            Head(
                number=3,
                title="Running",
                description="Experiments with a complete roll: every rank has arrived.",
                width=4,
            ),
            [Query(f"sum({each('muster_experiment_phase', _RUNNING)})")],
            "short",
        ),
        single(
            Head(
                number=4,
                title="Goodput, last hour",
                description="Productive time (all ranks arrived and running, and the experiment not Stuck) divided by "
                "the wall time of all experiments. What is missing to 100 % was spent on scheduling, assembling and "
                "restarts, and while Stuck. Empty before the first of them has run.",
                width=4,
            ),
            [Query(f"{goodput(CHOSEN, '1h')} and on () {has_run(CHOSEN)}")],
            "percentunit",
            GOODPUT,
            decimals=0,
        ),
        single(
            Head(
                number=5,
                title="Gang restarts, last hour",
                description="Restarts of whole gangs, disruptions by the platform included.",
                width=4,
                links=(runbook("MusterRestartStorm"), runbook("MusterDisruptionLoop")),
            ),
            [Query(f"sum(increase(muster_experiment_gang_restarts_total{{{CHOSEN}}}[1h]))")],
            "short",
            ((None, GREEN), (1, YELLOW), (10, ORANGE)),
            decimals=0,
        ),
        single(
            Head(
                number=6,
                title="Stalest watch",
                description="Time since a watch of musterd last heard from the API server. Everything on this "
                "dashboard may be as old. See the dashboard of the daemon.",
                width=4,
                links=(runbook("MusterWatchStale"),),
            ),
            [Query("max(muster_watch_staleness_seconds)")],
            "s",
            ((None, GREEN), (100, YELLOW), (120, RED)),
            decimals=0,
        ),
        listing(
            Head(
                number=7,
                title="What hurts now",
                description="Each stuck experiment with the reason of its condition Stuck, for how long it has held, "
                "how many ranks are missing, and the lowest of them. Click an experiment for its dashboard or its "
                "roll call, which names the ranks.",
                width=24,
                links=(page("guide.md#8-every-reason-and-what-to-do", "Every reason, and what to do"),),
            ),
            [
                Column(
                    "stuck for",
                    _of_stuck(f"time() - {each('muster_experiment_stuck_since_timestamp_seconds', CHOSEN)}"),
                    "dtdurations",
                    ((None, YELLOW), (300, ORANGE), (1800, RED)),
                ),
                Column("missing", _of_stuck(each("muster_experiment_ranks_missing", CHOSEN)), "short"),
                Column("first missing", _of_stuck(each("muster_experiment_first_missing_rank", CHOSEN)), "short"),
            ],
            labels=(*NAMES, "reason"),
            empty="No experiment is stuck.",
            sort="stuck for",
            cell_links=TO_EXPERIMENT,
            height=6,
        ),
        alerts(9, 16, CHOSEN, 'experiment=""', labels=(*NAMES, "reason"), cell_links=TO_EXPERIMENT),
        listing(
            Head(
                number=8,
                title="Clocks that run out next",
                description="The ten deadlines that are nearest. The total clock ends the experiment; the others do "
                "what their action says.",
                width=8,
                links=(
                    runbook("MusterDeadlineNear"),
                    runbook("MusterDeadlinePassed"),
                    page("guide.md#7-clocks", "Clocks"),
                ),
            ),
            [
                Column(
                    "runs out in",
                    f"bottomk(10, {each('muster_experiment_clock_remaining_seconds', CHOSEN, 'clock')})",
                    "dtdurations",
                    TIME_LEFT,
                )
            ],
            labels=(*NAMES, "clock"),
            empty="No clock runs.",
            sort="runs out in",
            descending=False,
            cell_links=TO_EXPERIMENT,
            height=6,
        ),
    ),
)

WHY = Row(
    "Why: experiments of the namespaces chosen",
    (
        series(
            Head(
                number=10,
                title="Missing ranks by cause",
                description="Why ranks have not arrived. Many of one cause at once point at the platform (image, "
                "scheduling, refusals); one experiment with NotArrived points at its program.",
                width=8,
                links=tuple(
                    runbook(alert) for alert in ("MusterRankMissing", "MusterImageNotPulled", "MusterUnschedulable")
                ),
            ),
            [Query(f"sum by (cause) (muster_experiment_ranks_missing_by_cause{{{CHOSEN}}}) > 0", "{{cause}}")],
            "short",
            stacked=True,
        ),
        series(
            Head(
                number=11,
                title="Stuck experiments by reason",
                description="How many experiments were stuck for each reason, and when it began.",
                width=8,
                links=(page("guide.md#8-every-reason-and-what-to-do", "Every reason, and what to do"),),
            ),
            [Query(f"sum by (reason) (muster_experiment_stuck_reason{{{CHOSEN}}}) > 0", "{{reason}}")],
            "short",
            stacked=True,
        ),
        series(
            Head(
                number=12,
                title="Goodput by namespace",
                description="Share of the time since the point before in which gangs ran assembled and not Stuck.",
                width=8,
            ),
            [Query(goodput(CHOSEN, SPAN, "namespace"), "{{namespace}}")],
            "percentunit",
            top=1,
        ),
    ),
)


FLEET = Board(
    name="muster-fleet",
    title="Muster / Fleet",
    description="Which experiments need a person now, why, and how well the cluster does.",
    variables=(variable("namespace", "Namespace", "label_values(muster_experiment_info, namespace)", many=True),),
    rows=(NOW, WHY, TRENDS),
    links=(page("dashboards.md", "About these dashboards"), page("runbooks", "Runbooks")),
    marks=(LEADERS,),
)
