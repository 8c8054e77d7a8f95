"""Runs without a coordinator of their own, and runs that other controllers own: what hurts, and what went on."""

from collections.abc import Sequence

from deploy.grafana.board import Board, Row, variable
from deploy.grafana.missing import by_cause, waiting
from deploy.grafana.palette import PHASES
from deploy.grafana.panels import Panel, listing, series, single
from deploy.grafana.parts import BAD_FROM_ONE, ORANGE, RED, YELLOW, Column, Head, Query, page, runbook
from deploy.grafana.promql import CHOSEN, PAIR, each, stuck_reasons
from deploy.grafana.restarts import READING, restarts
from deploy.grafana.to_experiment import NAMES, TO_EXPERIMENT

_EXPECTED = each("muster_experiment_ranks_expected", CHOSEN)
_MISSING = each("muster_experiment_ranks_missing", CHOSEN)
_BY_CAUSE = each("muster_experiment_ranks_missing_by_cause", CHOSEN, "cause")
_STUCK = tuple(
    runbook(f"Muster{alert}")
    for alert in ("ObservedRunStuck", "PodsMissing", "CoordinatorGone", "MemberNotReplaced", "StatusIsFalse")
)
_STUCK_FOR = f"(time() - {each('muster_experiment_stuck_since_timestamp_seconds', CHOSEN)})"


def _now(only: str) -> Row:
    """What is the matter now, with the runs that ``only`` leaves."""
    return Row(
        "Now",
        (
            single(
                Head(
                    number=1,
                    title="Stuck",
                    description="Runs whose condition Stuck is true.",
                    width=6,
                    links=(READING,),
                ),
                [Query(f"sum({each('muster_experiment_stuck', CHOSEN)} {only})")],
                "short",
                BAD_FROM_ONE,
            ),
            waiting(
                2,
                "Runs with missing members",
                "Runs with members that are not there, or have not arrived.",
                f"{_MISSING} {only}",
            ),
            single(
                Head(number=3, title="Runs", description="Runs that have not ended.", width=6),
                [Query(f"count({_EXPECTED} {only})")],
                "short",
            ),
            single(
                Head(number=4, title="Members", description="Members that these runs are to have.", width=6),
                [Query(f"sum({_EXPECTED} {only})")],
                "short",
            ),
            listing(
                Head(
                    number=10,
                    title="Stuck runs",
                    description="For how long, and why. The roll call has the sentence and the members.",
                    width=12,
                    links=(READING, *_STUCK),
                ),
                [
                    Column(
                        "stuck for",
                        f"{_STUCK_FOR} * on ({PAIR}) group_right () ({stuck_reasons(CHOSEN)} {only})",
                        "dtdurations",
                        ((None, YELLOW), (300, ORANGE), (1800, RED)),
                    )
                ],
                labels=(*NAMES, "reason"),
                empty="None is stuck.",
                sort="stuck for",
                cell_links=TO_EXPERIMENT,
            ),
            listing(
                Head(
                    number=11,
                    title="Members that are missing",
                    description="How many members are missing, by what keeps them.",
                    width=12,
                    links=(runbook("MusterRankMissing"),),
                ),
                [Column("missing", f"{_BY_CAUSE} > 0 {only}", "short", ((None, ORANGE),))],
                labels=(*NAMES, "cause"),
                empty="All members are there.",
                sort="missing",
                cell_links=TO_EXPERIMENT,
            ),
        ),
    )


def _history(only: str, more: Sequence[Panel]) -> Row:
    phases = each("muster_experiment_phase", CHOSEN, "phase")
    return Row(
        "Over time",
        (
            series(
                Head(number=20, title="Runs by phase", description="How many runs are in each phase.", width=8),
                [Query(f"sum by (phase) ({phases} {only}) > 0", "{{phase}}")],
                "short",
                stacked=True,
                stepped=True,
                colors=PHASES,
            ),
            by_cause(21, "Missing members by cause", "Why members are not there.", f"{_BY_CAUSE} {only}"),
            *more,
        ),
    )


def _board(name: str, title: str, description: str, matcher: str, *more: Panel) -> Board:
    only = f"and on ({PAIR}) muster_experiment_info{{{matcher}}}"
    return Board(
        name=name,
        title=f"Muster / {title}",
        description=description,
        variables=(variable("namespace", "Namespace", "label_values(muster_experiment_info, namespace)", many=True),),
        rows=(_now(only), _history(only, more)),
        links=(page("dashboards.md", "About these dashboards"), page("runbooks", "Runbooks")),
    )


JOBSETS = _board(
    "muster-jobsets",
    "JobSets",
    "Which experiments of the operator jobset, and which JobSets, wait or restart, and why.",
    'operator="jobset"',
    restarts(
        30,
        "Restarts per hour, by cause",
        "Restarts of whole JobSets within the hour before each point, by the reason of their cause, in all namespaces.",
        "muster_gang_restarts_total",
        "jobset",
    ),
)

OBSERVED = _board(
    "muster-observed",
    "Observed runs",
    "Runs that other controllers own and Muster watches over: which of them wait, for whom, and why.",
    'engine="observe"',
)
