"""The objective of goodput: how much of their time runs may waste, and alerts at how fast that is used up.

Time is wasted where a run is stuck, recovers from a failure, or loses steps (``muster.api.goodput.WASTED``). Time in a
queue and on the way to work is not: it depends on what is asked for. An alert needs a long window and a short one, so
that it neither fires for a moment nor continues long after the trouble (Google's SRE workbook, chapter 5). At an
objective of 95 % it fires where 72 % of an hour, 30 % of six, 15 % of a day or 5 % of three days were wasted, and at
least as much as that of one run: for runs that have just begun no share means much.

A run counts by its time, or by that of the accelerators that it holds, as the chart's ``slo.weight`` chooses. Those are
recorded both, so that the choice changes the alerts alone. While none is held none is wasted: a recovery that waits for
nodes counts by time only.

All runs count, also those that have no series of their own, and each second counts by what the run held then. The long
windows are sums over the recorded rates of a namespace (``recordings``), which are two series.
"""

from deploy.prometheus.recordings import wall
from deploy.prometheus.row import Alert, Recording, Severity
from muster.api.goodput import WASTED

OPTION = "slo"
_HOURS = {"1h": 1, "6h": 6, "1d": 24, "3d": 72}
WINDOWS = ("5m", "30m", "1h", "2h", "6h", "1d", "3d")
_SOURCES = "|".join(sorted(bucket.value for bucket in WASTED))
_WASTED, _WALL = "namespace:muster_wasted_seconds:rate5m", "namespace:muster_wall_seconds:rate5m"
_WASTED_HELD = "namespace:muster_wasted_accelerator_seconds:rate5m"
_WALL_HELD = "namespace:muster_wall_accelerator_seconds:rate5m"


def _of_wasted(rates: str) -> str:
    return f'sum by (namespace) ({rates}{{bucket=~"{_SOURCES}"}})'


SLO_RECORDINGS = (
    Recording(_WASTED, _of_wasted("namespace:muster_seconds:rate5m"), "Its runs that waste time."),
    Recording(_WASTED_HELD, _of_wasted("namespace:muster_accelerator_seconds:rate5m"), "Their accelerators."),
    Recording(_WALL_HELD, wall("namespace:muster_accelerator_seconds:rate5m"), "Accelerators of all its runs."),
    *(
        Recording(
            f"namespace:muster_wasted{weight}:ratio_rate{window}",
            f"sum_over_time({wasted}[{window}]) / (sum_over_time({wall}[{window}]) > 0)",
            f"Share of {whose} that its runs wasted in {window}.",
        )
        for weight, wasted, wall, whose in (
            ("", _WASTED, _WALL, "their time"),
            ("_accelerators", _WASTED_HELD, _WALL_HELD, "the time of their accelerators"),
        )
        for window in WINDOWS
    ),
)


def _burns(factor: float, long: str, short: str) -> str:
    share = f"{factor:g} * (1 - @objective)"
    both = " and ".join(f"namespace:muster_wasted@{{weight}}:ratio_rate{window} > {share}" for window in (long, short))
    return f"({both} and sum_over_time({_WASTED}[{long}:1m]) > {60 * _HOURS[long]} * {share})"


def _burning(*pairs: tuple[float, str, str]) -> str:
    return "\nor\n".join(_burns(*pair) for pair in pairs)


SLO = (
    Alert(
        "MusterGoodputBurnsFast",
        _burning((14.4, "1h", "5m"), (6, "6h", "30m")),
        Severity.CRITICAL,
        "{{ $labels.namespace }}: {{ $value | humanizePercentage }} of the time of its @whose is wasted.",
        "Runs of the namespace are stuck, recover or lose work, so much that the objective of a month is used up within"
        " two to five days.",
        hold="2m",
    ),
    Alert(
        "MusterGoodputBurnsSlowly",
        _burning((3, "1d", "2h"), (1, "3d", "6h")),
        Severity.WARNING,
        "{{ $labels.namespace }}: {{ $value | humanizePercentage }} of the time of its @whose is wasted.",
        "Runs of the namespace are stuck, recover or lose work, so much that the objective of a month is"
        " missed if it continues.",
        hold="15m",
    ),
)
