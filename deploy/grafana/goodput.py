"""Goodput: where the time of runs went, over 1, 3 and 5 days, by bucket, namespace and run."""

from deploy.grafana.links import NAMES, TO_EXPERIMENT, page
from deploy.grafana.marks import LEADERS
from deploy.grafana.palette import CYAN, GOODPUT, GREEN, GREY, ORANGE, PURPLE, RED, YELLOW
from deploy.grafana.promql import CHOSEN, PAIR, SPAN, each, goodput, has_run
from deploy.grafana.row import Board, Column, Graph, Panel, Stat, Table
from muster.api.goodput import WASTED

DAYS = ("1d", "3d", "5d")
_SAID = {"1d": "last day", "3d": "last 3 days", "5d": "last 5 days"}
_ABOUT = page("goodput.md", "What each bucket means")
_WASTED = 'source=~"' + "|".join(sorted(bucket.value for bucket in WASTED)) + '"'
_COLORS = {
    "productive": GREEN,
    "queued": GREY,
    "scheduling": CYAN,
    "stuck": RED,
    "lost": PURPLE,
    "recovery": ORANGE,
    "assembly": YELLOW,
}


def _seconds(kind: str, window: str, more: str = "") -> str:
    return f"increase(muster_experiment_{kind}_seconds_total{{{','.join(filter(None, (CHOSEN, more)))}}}[{window}])"


def _wasted(window: str, by: str) -> str:
    return f"sum by ({by}) ({_seconds('badput', window, _WASTED)})"


def _of_the_worst(bucket: str) -> str:
    one = f'source="{bucket}"'
    return f"sum by ({PAIR}) ({_seconds('badput', '5d', one)}) > 0 and on ({PAIR}) topk(20, {_wasted('5d', PAIR)})"


def _weighted(window: str) -> str:
    """Goodput in which each run counts as many times as it holds accelerators now."""
    held = f"sum by ({PAIR}) ({each('muster_experiment_accelerators', CHOSEN, 'resource')})"

    def total(kind: str) -> str:
        return f"max by ({PAIR}) ({_seconds(kind, window)}) * on ({PAIR}) group_left () ({held})"

    return f"clamp_min(sum({total('productive')}) - sum({total('taken_back')}), 0) / sum({total('wall')})"


def _window(place: int, window: str) -> tuple[Panel, Panel]:
    return (
        Stat(
            (place, 4, f"Goodput, {_SAID[window]}"),
            "Productive time that was not taken back, divided by the wall time of all runs; suspended time is in "
            "neither, and time in which a run was Stuck is not productive. Each run counts by its time. Empty "
            "before the first has run.",
            f"{goodput(CHOSEN, window)} and on () {has_run(CHOSEN)}",
            "percentunit",
            GOODPUT,
            decimals=1,
            links=(_ABOUT, "MusterGoodputBurnsFast", "MusterGoodputBurnsSlowly"),
        ),
        Stat(
            (place + 10, 4, f"By accelerators, {window[0]} day{'' if window == '1d' else 's'}"),
            "The same, and each run counts as many times as it holds accelerators now; time in which a run was Stuck "
            "is not productive. A run that holds none now is left out.",
            _weighted(window),
            "percentunit",
            GOODPUT,
            decimals=1,
            empty="no accelerators are held",
            links=(_ABOUT,),
        ),
    )


_PAIRS = [_window(place, window) for place, window in enumerate(DAYS, 1)]
WINDOWS: tuple[Panel, ...] = (*(first for first, _ in _PAIRS), *(second for _, second in _PAIRS))

WHERE = (
    Graph(
        (20, 24, "Where the time went"),
        "Share of the time since the point before that runs spent in each bucket; together they are the wall "
        "time. What is taken back, as lost work or a hang that is known late, counts when it is known, so "
        "productive, which is only time that was not Stuck, is less at that point.",
        {
            "productive": goodput(CHOSEN, SPAN),
            "{{source}}": f"sum by (source) (rate(muster_experiment_badput_seconds_total{{{CHOSEN}}}[{SPAN}]))"
            f" / on () group_left () sum(rate(muster_experiment_wall_seconds_total{{{CHOSEN}}}[{SPAN}])) > 0",
        },
        "percentunit",
        stacked=True,
        colors=_COLORS,
        links=(_ABOUT,),
    ),
    Table(
        (21, 12, "Time that was not productive, by bucket"),
        "The time of all runs of the namespaces chosen, added up, in each bucket. stuck, lost and recovery are "
        "waste; the others are on the way to work, or pauses that a program wants.",
        tuple(
            Column(f"{_SAID[window]}", f"sum by (source) ({_seconds('badput', window)}) > 0", "dtdurations")
            for window in DAYS
        ),
        labels=("source",),
        empty="All time was productive.",
        sort=_SAID["5d"],
        links=(_ABOUT,),
    ),
    Table(
        (22, 12, "By namespace"),
        "Goodput of each namespace, each run by its time; time in which a run was Stuck is not productive. The last "
        "column is the time of all its runs that was stuck, lost or spent on recovery.",
        (
            *(
                Column(f"{_SAID[window]}", goodput(CHOSEN, window, "namespace"), "percentunit", GOODPUT, decimals=1)
                for window in DAYS
            ),
            Column("wasted, 5 days", _wasted("5d", "namespace"), "dtdurations"),
        ),
        labels=("namespace",),
        sort="wasted, 5 days",
        links=("MusterGoodputBurnsFast", "MusterGoodputBurnsSlowly"),
    ),
)

RUNS = (
    Table(
        (30, 24, "Runs that wasted most, last 5 days"),
        "The twenty runs that were stuck, lost work or recovered for longest, and how long each. Runs that are "
        "deleted since are among them.",
        (
            Column("wasted", f"topk(20, {_wasted('5d', PAIR)} > 0)", "dtdurations"),
            *(Column(bucket, _of_the_worst(bucket), "dtdurations") for bucket in sorted(each.value for each in WASTED)),
        ),
        labels=NAMES,
        empty="No run wasted time.",
        sort="wasted",
        cell_links=TO_EXPERIMENT,
        links=("MusterRestartStorm", _ABOUT),
    ),
)

GOODPUT_BOARD = Board(
    name="muster-goodput",
    title="Muster / Goodput",
    description="How much of their time runs make use of, over 1, 3 and 5 days, and where the rest goes.",
    rows={
        "Windows of 1, 3 and 5 days": WINDOWS,
        "Where the time went": WHERE,
        "Which runs": RUNS,
    },
    marks=(LEADERS,),
    since="now-5d",
)
