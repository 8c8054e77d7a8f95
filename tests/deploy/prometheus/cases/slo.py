"""The objective of goodput: how fast time is wasted."""

from tests.deploy.prometheus.case import Case

_FAST, _SLOWLY = "MusterGoodputBurnsFast", "MusterGoodputBurnsSlowly"
_NAMESPACE = {"namespace": "vision"}


def _wasted(share: float, runs: int = 60, bucket: str = "stuck") -> dict[str, str]:
    """So many runs that waste this share of their time from the start."""
    common = 'job="musterd",instance="a",namespace="vision",operator="jax"'
    rates = {"productive": 5 * runs * (1 - share), bucket: 5 * runs * share, "taken_back": 0}
    return {
        f'muster_namespace_seconds_total{{{common},bucket="{name}"}}': f"0+{rate:g}x1000"
        for name, rate in rates.items()
    }


def _summary(share: int) -> str:
    return f"vision: {share}% of the time of its runs is wasted."


SLO = (
    Case(_FAST, "all runs of a namespace are stuck for minutes", _wasted(0.8), 600, _NAMESPACE, _summary(80),
         at_once=False, also=(_SLOWLY,)),
    Case(_FAST, "a fifth of the time is wasted", _wasted(0.2), also=(_SLOWLY,)),
    Case(_FAST, "time is spent in a queue", _wasted(1.0, bucket="queued")),
    Case(_FAST, "the only run of a namespace is stuck for half an hour", _wasted(1.0, runs=1)),
    Case(_SLOWLY, "a fifth of the time is wasted", _wasted(0.2, runs=120), 1800, _NAMESPACE, _summary(20),
         at_once=False),
    Case(_SLOWLY, "as much is wasted as the objective admits", _wasted(0.04)),
)  # fmt: skip
