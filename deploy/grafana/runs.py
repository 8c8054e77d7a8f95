"""Runs without a coordinator of their own, and runs that other controllers own: their problems and their history."""

from deploy.grafana.palette import BAD_FROM_ONE, ODD_FROM_ONE, PHASES, TIME_STUCK
from deploy.grafana.promql import PAIR, each, restarts
from deploy.grafana.row import Board, Column, Panel, Rows, Stack, Stat, Table

_EXPECTED = each("muster_experiment_ranks_expected")
_STUCK_FOR = f"(time() - {each('muster_experiment_stuck_since_timestamp_seconds')})"
_REASONS = f"{each('muster_experiment_stuck_reason', 'reason')} == 1"
_MISSING = each("muster_experiment_ranks_missing")
_BY_CAUSE = each("muster_experiment_ranks_missing_by_cause", "cause")
_PHASES = each("muster_experiment_phase", "phase")


def _board(name: str, title: str, description: str, matcher: str, *more: Panel) -> Board:
    """Return the dashboard of the runs that ``matcher`` selects; ``more`` are panels over time that only it has."""
    only = f"and on ({PAIR}) muster_experiment_info{{{matcher}}}"
    stuck_for = f"{_STUCK_FOR} * on ({PAIR}) group_right () ({_REASONS} {only})"
    rows: Rows = (
        "Now",
        Stat(1, 6, "Stuck", f"sum({each('muster_experiment_stuck')} {only})", steps=BAD_FROM_ONE, links="reasons",
            about="Runs whose condition Stuck is true."),
        Stat(2, 6, "Runs with missing members", f"sum(({_MISSING} {only}) > bool 0)", steps=ODD_FROM_ONE,
            links="MusterRankMissing", about="Runs with members that do not exist, or have not arrived."),
        Stat(3, 6, "Runs", f"count({_EXPECTED} {only})", about="Runs that have not ended."),
        Stat(4, 6, "Members", f"sum({_EXPECTED} {only})", about="Members that these runs are to have."),
        Table(10, 12, "Stuck runs", "namespace experiment reason",
            (Column("stuck for", stuck_for, "dtdurations", TIME_STUCK),), empty="None is stuck.",
            links="reasons MusterObservedRunStuck MusterPodsMissing MusterCoordinatorGone MusterMemberNotReplaced "
            "MusterStatusIsFalse", about="For how long, and why. The roll call has the sentence and the members."),
        Table(11, 12, "Members that are missing", "namespace experiment cause",
            (Column("missing", f"{_BY_CAUSE} > 0 {only}", steps=((None, "orange"),)),), empty="No member is missing.",
            links="MusterRankMissing", about="How many members are missing, by what keeps them."),
        "Over time",
        Stack(20, 8, "Runs by phase", {"{{phase}}": f"sum by (phase) ({_PHASES} {only}) > 0"}, stepped=True,
            colors=PHASES, about="How many runs are in each phase."),
        Stack(21, 8, "Missing members by cause", {"{{cause}}": f"sum by (cause) ({_BY_CAUSE} {only}) > 0"},
            stepped=True, links="MusterRankMissing", about="Why members are missing."),
        *more,
    )  # fmt: skip
    return Board(name, f"Muster / {title}", description, rows)


JOBSETS = _board(
    "muster-jobsets",
    "JobSets",
    "Which experiments of the operator jobset, and which JobSets, wait or restart, and why.",
    'operator="jobset"',
    Stack(30, 8, "Restarts per hour, by cause", restarts("gang", "jobset"), links="MusterRestartStorm reasons",
        about="Restarts of whole JobSets within the hour before each point, by the reason of their cause, in all "
        "namespaces."),
)  # fmt: skip
WATCHED = _board(
    "muster-observed",
    "Watched runs",
    "Runs that other controllers own and Muster watches over: which of them wait, for whom, and why.",
    'engine="observe"',
)
