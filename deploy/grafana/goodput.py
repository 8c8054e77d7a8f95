"""Goodput: where the time of runs went, over 1, 3 and 5 days, by bucket, namespace and run."""

from collections.abc import Mapping

from deploy.grafana.marks import LEADERS
from deploy.grafana.palette import GOODPUT, Color
from deploy.grafana.promql import LOST_TO, OF_ALL, OF_ALL_HELD, PAIR, SPAN, any_has_run, goodput, hours, summed, wall
from deploy.grafana.row import Board, Choice, Column, Rows, Stack, Stat, Table
from muster.api.goodput import WASTED

_WINDOWS = {"1d": ("last day", "1 day"), "3d": ("last 3 days", "3 days"), "5d": ("last 5 days", "5 days")}
_COLORS: Mapping[str, Color] = {
    "productive": "green", "queued": "gray", "scheduling": "light-blue", "stuck": "red", "lost": "purple",
    "recovery": "orange", "assembly": "yellow",
}  # fmt: skip
_WASTED = sorted(bucket.value for bucket in WASTED)
_ANY_WASTED = "|".join(_WASTED)
_BAD = f'bucket=~"{_ANY_WASTED}"'
_NOT_PRODUCTIVE = 'bucket!~"productive|taken_back"'
_BY = "namespace, resource"


def _held(buckets: str) -> str:
    """Return accelerator-hours of a month that were not taken back."""
    back = hours(OF_ALL_HELD, "30d", 'bucket="taken_back"', _BY)
    return f"{hours(OF_ALL_HELD, '30d', buckets, _BY)} - {back}"


def _of_runs(bucket: str, how: str = "=") -> str:
    """Return the time in a bucket of each run that has series of its own."""
    return f'sum by ({PAIR}) (increase(muster_experiment_badput_seconds_total{{@chosen,source{how}"{bucket}"}}[5d]))'


_WORST = f"topk(20, {_of_runs(_ANY_WASTED, '=~')} > 0)"

ROWS: Rows = (
    "Windows of 1, 3 and 5 days",
    *(Stat(number, 4, f"Goodput, {title}", f"{goodput(window)} and on () {any_has_run(window)}",
        "percentunit", GOODPUT, decimals=1, links="buckets MusterGoodputBurnsFast MusterGoodputBurnsSlowly",
        about="Productive time that was not taken back, divided by the wall time of all runs; suspended time is "
        "in neither, and time in which a run was Stuck is not productive. Each run counts by its time, also one "
        "that has ended or has no series of its own. Empty where none was productive.")
      for number, (window, (title, _)) in enumerate(_WINDOWS.items(), 1)),
    *(Stat(number, 4, f"By accelerators, {days}", goodput(window, counter=OF_ALL_HELD), "percentunit", GOODPUT,
        decimals=1, empty="no accelerators were held", links="buckets",
        about="The same, and each second of a run counts as many times as it held accelerators then; time in "
        "which a run was Stuck is not productive.")
      for number, (window, (_, days)) in enumerate(_WINDOWS.items(), 11)),
    "Where the time went",
    Stack(20, 24, "Where the time went",
        {"productive": goodput(SPAN),
         "{{bucket}}": f"{summed(OF_ALL, SPAN, _NOT_PRODUCTIVE, 'bucket')} / on () group_left () {wall(SPAN)} > 0"},
        "percentunit", colors=_COLORS, links="buckets",
        about="Share of the time since the point before that runs spent in each bucket; together they are the wall "
        "time. What is taken back, as lost work or a hang that is known late, counts when it is known, so "
        "productive, which is only time that was not Stuck, is less at that point."),
    Table(21, 12, "Time that was not productive, by bucket", "bucket",
        [Column(title, f"{summed(OF_ALL, window, _NOT_PRODUCTIVE, 'bucket', 'increase')} > 0", "dtdurations")
         for window, (title, _) in _WINDOWS.items()],
        empty="All time was productive.", sort="last 5 days", links="buckets",
        about="The time of all runs of the namespaces chosen, added up, in each bucket. stuck, lost and recovery "
        "are waste; the others are on the way to work, or pauses that a program wants."),
    Table(22, 12, "By namespace", "namespace",
        [*(Column(title, goodput(window, "namespace"), "percentunit", GOODPUT, decimals=1)
           for window, (title, _) in _WINDOWS.items()),
         Column("wasted, 5 days", summed(OF_ALL, "5d", _BAD, "namespace", "increase"), "dtdurations")],
        sort="wasted, 5 days", links="MusterGoodputBurnsFast MusterGoodputBurnsSlowly",
        about="Goodput of each namespace, each run by its time; time in which a run was Stuck is not productive. "
        "The last column is the time of all its runs that was stuck, lost or spent on recovery."),
    "Accelerator-hours, and what they were lost to",
    Table(40, 12, "Accelerator-hours, last 30 days", "namespace resource",
        (Column("held", _held('bucket!="taken_back"'), decimals=1),
         Column("productive", _held('bucket="productive"'), decimals=1),
         Column("lost", hours(LOST_TO, "30d", by=_BY), decimals=1)), empty="No accelerators were held.",
        links="buckets",
        about="What each namespace has held, what of it was productive and was not taken back, and what was wasted. "
        "An hour of a run with 8 accelerators is 8 hours. muster usage has the same figures."),
    Table(41, 12, "Accelerator-hours lost, last 30 days, by cause", "namespace resource cause",
        (Column("lost", f"{hours(LOST_TO, '30d', by=f'{_BY}, cause')} > 0", decimals=1),), empty="None were lost.",
        links="buckets",
        about="Accelerator-hours that were wasted (stuck, spent on recovery, or lost work), by what they were lost "
        "to: for what the run was Stuck, or its last epoch ended."),
    Stack(42, 24, "Accelerator-hours lost per hour, by cause", {"{{cause}}": f"{hours(LOST_TO, '1h', by='cause')} > 0"},
        links="buckets",
        about="Accelerator-hours that were wasted within the hour before each point, by what they were lost to."),
    "Which runs",
    Table(30, 24, "Runs that wasted most, last 5 days", "namespace experiment",
        [Column("wasted", _WORST, "dtdurations"),
         *(Column(bucket, f"{_of_runs(bucket)} > 0 and on ({PAIR}) {_WORST}", "dtdurations")
           for bucket in _WASTED)],
        empty="No run wasted time.", links="MusterRestartStorm buckets",
        about="The twenty runs that were stuck, lost work or recovered for longest, and how long each. Runs that "
        "are deleted since are among them, runs that never had series of their own are not."),
)  # fmt: skip

GOODPUT_BOARD = Board(
    name="muster-goodput",
    title="Muster / Goodput",
    description="How much of their time runs make use of, over 1, 3 and 5 days, and where the rest goes.",
    choices=(Choice("namespace", "Namespace", f"label_values({OF_ALL}, namespace)", many=True, every=".*"),),
    marks=(LEADERS,),
    since="now-5d",
    rows=ROWS,
)
