"""Runs without a coordinator of their own, and runs that other controllers own: what hurts, and what went on."""

from collections.abc import Sequence

from deploy.grafana.links import NAMES, REASONS, TO_EXPERIMENT
from deploy.grafana.palette import BAD_FROM_ONE, ORANGE, PHASES, TIME_STUCK
from deploy.grafana.promql import CHOSEN, PAIR, each, stuck_reasons
from deploy.grafana.row import Board, Column, Graph, Panel, Stat, Table
from deploy.grafana.shared import by_cause, restarts, waiting

_STUCK = each("muster_experiment_stuck", CHOSEN)
_STUCK_FOR = f"(time() - {each('muster_experiment_stuck_since_timestamp_seconds', CHOSEN)})"
_EXPECTED = each("muster_experiment_ranks_expected", CHOSEN)
_MISSING = each("muster_experiment_ranks_missing", CHOSEN)
_BY_CAUSE = each("muster_experiment_ranks_missing_by_cause", CHOSEN, "cause")
_PHASES = each("muster_experiment_phase", CHOSEN, "phase")


def _now(only: str) -> Sequence[Panel]:
    """What is the matter now, with the runs that ``only`` leaves."""
    return (
        Stat(
            (1, 6, "Stuck"),
            "Runs whose condition Stuck is true.",
            f"sum({_STUCK} {only})",
            steps=BAD_FROM_ONE,
            links=(REASONS,),
        ),
        waiting(
            2,
            "Runs with missing members",
            "Runs with members that do not exist, or have not arrived.",
            f"{_MISSING} {only}",
        ),
        Stat((3, 6, "Runs"), "Runs that have not ended.", f"count({_EXPECTED} {only})"),
        Stat((4, 6, "Members"), "Members that these runs are to have.", f"sum({_EXPECTED} {only})"),
        Table(
            (10, 12, "Stuck runs"),
            "For how long, and why. The roll call has the sentence and the members.",
            (
                Column(
                    "stuck for",
                    f"{_STUCK_FOR} * on ({PAIR}) group_right () ({stuck_reasons(CHOSEN)} {only})",
                    "dtdurations",
                    TIME_STUCK,
                ),
            ),
            labels=(*NAMES, "reason"),
            empty="None is stuck.",
            sort="stuck for",
            cell_links=TO_EXPERIMENT,
            links=(
                REASONS,
                "MusterObservedRunStuck",
                "MusterPodsMissing",
                "MusterCoordinatorGone",
                "MusterMemberNotReplaced",
                "MusterStatusIsFalse",
            ),
        ),
        Table(
            (11, 12, "Members that are missing"),
            "How many members are missing, by what keeps them.",
            (Column("missing", f"{_BY_CAUSE} > 0 {only}", steps=((None, ORANGE),)),),
            labels=(*NAMES, "cause"),
            empty="No member is missing.",
            sort="missing",
            cell_links=TO_EXPERIMENT,
            links=("MusterRankMissing",),
        ),
    )


def _history(only: str) -> Sequence[Panel]:
    return (
        Graph(
            (20, 8, "Runs by phase"),
            "How many runs are in each phase.",
            {"{{phase}}": f"sum by (phase) ({_PHASES} {only}) > 0"},
            stacked=True,
            stepped=True,
            colors=PHASES,
        ),
        by_cause(21, "Missing members by cause", "Why members are missing.", f"{_BY_CAUSE} {only}"),
    )


def _board(name: str, title: str, description: str, matcher: str, *more: Panel) -> Board:
    only = f"and on ({PAIR}) muster_experiment_info{{{matcher}}}"
    rows = {"Now": _now(only), "Over time": (*_history(only), *more)}
    return Board(name=name, title=f"Muster / {title}", description=description, rows=rows)


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

WATCHED = _board(
    "muster-observed",
    "Watched runs",
    "Runs that other controllers own and Muster watches over: which of them wait, for whom, and why.",
    'engine="observe"',
)
