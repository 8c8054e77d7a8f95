"""Goodput: where the time of runs went, over 1, 3 and 5 days, by bucket, namespace and run."""

from deploy.grafana.links import NAMES, TO_EXPERIMENT, page
from deploy.grafana.marks import LEADERS
from deploy.grafana.palette import CYAN, GOODPUT, GREEN, GREY, ORANGE, PURPLE, RED, YELLOW
from deploy.grafana.promql import (
    CHOSEN,
    LOST_TO,
    OF_ALL,
    OF_ALL_HELD,
    PAIR,
    SPAN,
    any_has_run,
    goodput_of_all,
    hours_of_all,
    time_of_all,
    wall_of_all,
)
from deploy.grafana.row import Board, Choice, Column, Graph, Panel, Stat, Table
from deploy.grafana.shared import HOUR
from muster.api.goodput import WASTED

DAYS = ("1d", "3d", "5d")
_SAID = {"1d": "last day", "3d": "last 3 days", "5d": "last 5 days"}
_ABOUT = page("goodput.md", "What each bucket means")
_IN_TROUBLE = "|".join(sorted(bucket.value for bucket in WASTED))
_PRODUCTIVE = 'bucket="productive"'
_NOT_PRODUCTIVE = 'bucket!~"productive|taken_back"'
_COLORS = {
    "productive": GREEN,
    "queued": GREY,
    "scheduling": CYAN,
    "stuck": RED,
    "lost": PURPLE,
    "recovery": ORANGE,
    "assembly": YELLOW,
}


def _of_all(window: str, buckets: str, by: str) -> str:
    return f"sum by ({by}) (increase({OF_ALL}{{{CHOSEN},{buckets}}}[{window}]))"


def _of_runs(window: str, source: str) -> str:
    """Of each run that has series of its own."""
    badput = f"muster_experiment_badput_seconds_total{{{CHOSEN},{source}}}"
    return f"sum by ({PAIR}) (increase({badput}[{window}]))"


_WASTED_BY_RUN = _of_runs("5d", f'source=~"{_IN_TROUBLE}"')
_WORST = f"topk(20, {_WASTED_BY_RUN} > 0)"


def _of_the_worst(bucket: str) -> str:
    one = f'source="{bucket}"'
    return f"{_of_runs('5d', one)} > 0 and on ({PAIR}) {_WORST}"


def _window(place: int, window: str) -> tuple[Panel, Panel]:
    return (
        Stat(
            (place, 4, f"Goodput, {_SAID[window]}"),
            "Productive time that was not taken back, divided by the wall time of all runs; suspended time is in "
            "neither, and time in which a run was Stuck is not productive. Each run counts by its time, also one that "
            "has ended or has no series of its own. Empty where none was productive.",
            f"{goodput_of_all(window)} and on () {any_has_run(window)}",
            "percentunit",
            GOODPUT,
            decimals=1,
            links=(_ABOUT, "MusterGoodputBurnsFast", "MusterGoodputBurnsSlowly"),
        ),
        Stat(
            (place + 10, 4, f"By accelerators, {window[0]} day{'' if window == '1d' else 's'}"),
            "The same, and each second of a run counts as many times as it held accelerators then; time in which a run "
            "was Stuck is not productive.",
            goodput_of_all(window, counter=OF_ALL_HELD),
            "percentunit",
            GOODPUT,
            decimals=1,
            empty="no accelerators were held",
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
            "productive": goodput_of_all(SPAN),
            "{{bucket}}": f"{time_of_all(SPAN, _NOT_PRODUCTIVE, 'bucket')}"
            f" / on () group_left () {wall_of_all(SPAN)} > 0",
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
            Column(f"{_SAID[window]}", f"{_of_all(window, _NOT_PRODUCTIVE, 'bucket')} > 0", "dtdurations")
            for window in DAYS
        ),
        labels=("bucket",),
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
                Column(f"{_SAID[window]}", goodput_of_all(window, "namespace"), "percentunit", GOODPUT, decimals=1)
                for window in DAYS
            ),
            Column("wasted, 5 days", _of_all("5d", f'bucket=~"{_IN_TROUBLE}"', "namespace"), "dtdurations"),
        ),
        labels=("namespace",),
        sort="wasted, 5 days",
        links=("MusterGoodputBurnsFast", "MusterGoodputBurnsSlowly"),
    ),
)

_MONTH, _EVERY = "30d", 'bucket!="taken_back"'
_BY = "namespace, resource"
_TAKEN_BACK = hours_of_all(_MONTH, 'bucket="taken_back"', _BY)
HOURS = (
    Table(
        (40, 12, "Accelerator-hours, last 30 days"),
        "What each namespace has held, what of it was productive and was not taken back, and what was wasted. An hour "
        "of a run with 8 accelerators is 8 hours. muster usage has the same figures.",
        (
            Column("held", f"{hours_of_all(_MONTH, _EVERY, _BY)} - {_TAKEN_BACK}", decimals=1),
            Column("productive", f"{hours_of_all(_MONTH, _PRODUCTIVE, _BY)} - {_TAKEN_BACK}", decimals=1),
            Column("lost", hours_of_all(_MONTH, by=_BY, counter=LOST_TO), decimals=1),
        ),
        labels=("namespace", "resource"),
        empty="No accelerators were held.",
        sort="held",
        links=(_ABOUT,),
    ),
    Table(
        (41, 12, "Accelerator-hours lost, last 30 days, by cause"),
        "Accelerator-hours that were wasted (stuck, spent on recovery, or lost work), by what they were lost to: for "
        "what the run was Stuck, or its last epoch ended.",
        (Column("lost", f"{hours_of_all(_MONTH, by=f'{_BY}, cause', counter=LOST_TO)} > 0", decimals=1),),
        labels=("namespace", "resource", "cause"),
        empty="None were lost.",
        sort="lost",
        links=(_ABOUT,),
    ),
    Graph(
        (42, 24, "Accelerator-hours lost per hour, by cause"),
        "Accelerator-hours that were wasted within the hour before each point, by what they were lost to.",
        {"{{cause}}": f"{hours_of_all(HOUR, by='cause', counter=LOST_TO)} > 0"},
        stacked=True,
        links=(_ABOUT,),
    ),
)

RUNS = (
    Table(
        (30, 24, "Runs that wasted most, last 5 days"),
        "The twenty runs that were stuck, lost work or recovered for longest, and how long each. Runs that are "
        "deleted since are among them, runs that never had series of their own are not.",
        (
            Column("wasted", _WORST, "dtdurations"),
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
        "Accelerator-hours, and what they were lost to": HOURS,
        "Which runs": RUNS,
    },
    choices=(Choice("namespace", "Namespace", f"label_values({OF_ALL}, namespace)", many=True),),
    marks=(LEADERS,),
    since="now-5d",
)
