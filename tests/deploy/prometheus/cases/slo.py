"""The objective of goodput: how fast time is wasted."""

from tests.deploy.prometheus.case import ONE, Case

_NAMESPACE = {"namespace": "vision"}


def _wasted(share: float, runs: int = 60, source: str = "stuck") -> dict[str, str]:
    """So many runs that waste this share of their time from the start."""
    series = {}
    for run in (ONE, *(f'namespace="vision",experiment="e{number}"' for number in range(runs - 1))):
        series[f"muster_experiment_wall_seconds_total{{{run}}}"] = "0+5x1000"
        series[f'muster_experiment_badput_seconds_total{{{run},source="{source}"}}'] = f"0+{5 * share:g}x1000"
    return series


def _summary(share: int) -> str:
    return f"vision: {share}% of the time of its runs is wasted."


SLO = (
    Case(
        "MusterGoodputBurnsFast",
        "all runs of a namespace are stuck for minutes",
        _wasted(0.8),
        600,
        _NAMESPACE,
        _summary(80),
        at_once=False,
        also=("MusterGoodputBurnsSlowly",),
    ),
    Case(
        "MusterGoodputBurnsFast",
        "a fifth of the time is wasted",
        _wasted(0.2),
        also=("MusterGoodputBurnsSlowly",),
    ),
    Case(
        "MusterGoodputBurnsFast",
        "time is spent in a queue",
        _wasted(1.0, source="queued"),
    ),
    Case("MusterGoodputBurnsFast", "the only run of a namespace is stuck for half an hour", _wasted(1.0, runs=1)),
    Case(
        "MusterGoodputBurnsSlowly",
        "a fifth of the time is wasted",
        _wasted(0.2, runs=120),
        1800,
        _NAMESPACE,
        _summary(20),
        at_once=False,
    ),
    Case("MusterGoodputBurnsSlowly", "as much is wasted as the objective admits", _wasted(0.04)),
)
