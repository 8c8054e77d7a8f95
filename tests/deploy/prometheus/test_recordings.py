"""What each recorded series is, on two experiments of one namespace, evaluated by promtool."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

import pytest

from deploy.prometheus.groups import GROUPS
from deploy.prometheus.recordings import RECORDINGS
from deploy.prometheus.slo import SLO_RECORDINGS, WINDOWS
from deploy.prometheus.text import plain
from tests.deploy.grafana.answers import interpolated
from tests.deploy.grafana.test_dashboards import panel_of
from tests.deploy.prometheus.promtool import RULES, SLO_RULES, answered

pytestmark = pytest.mark.slow

Answers = dict[str, Mapping[str, float]]
"""The value of each series of each query."""
LED_BY_X = 'job="musterd",instance="x"'

MOVES = {"productive": 18, "taken_back": 3, "stuck": 3, "lost": 3, "recovery": 3, "queued": 9, "assembly": 27}
"""Seconds of all runs of the namespace in 30 s, of which there are two: a part of the productive is lost."""
HELD_MOVES = {
    ("nvidia.com/gpu", "productive"): 144,
    ("nvidia.com/gpu", "taken_back"): 24,
    ("nvidia.com/gpu", "lost"): 24,
    ("nvidia.com/gpu", "stuck"): 24,
    ("google.com/tpu", "assembly"): 96,
}
LED = {
    'instance="x"': "0+{}x60 stale",
    'instance="y",replica="p"': "_x60 0+{}x180",
    'instance="y",replica="q"': "_x60 0+{}x180",
}
"""One musterd leads for half an hour, then another one; a pair of Prometheus has the series of that one twice."""


def of_all() -> Iterator[tuple[str, str]]:
    """The counters of all runs."""
    for (led, values), operator in product(LED.items(), ("jax", "ray")):
        common = f'job="musterd",{led},namespace="vision",operator="{operator}"'
        for bucket, more in MOVES.items():
            yield f'muster_namespace_seconds_total{{{common},bucket="{bucket}"}}', values.format(more / 2)
        for (resource, bucket), more in HELD_MOVES.items():
            name = f'muster_namespace_accelerator_seconds_total{{{common},resource="{resource}",bucket="{bucket}"}}'
            yield name, values.format(more / 2)


OF_ALL = dict(of_all())
SERIES = {
    'muster_experiment_wall_seconds_total{namespace="vision",experiment="a"}': "0+30x240",
    'muster_experiment_productive_seconds_total{namespace="vision",experiment="a"}': "0+30x120 3600+0x120",
    'muster_experiment_wall_seconds_total{namespace="vision",experiment="b"}': "0+30x240",
    'muster_experiment_productive_seconds_total{namespace="vision",experiment="b"}': "0+15x240",
    'muster_experiment_taken_back_seconds_total{namespace="vision",experiment="a"}': "0x120 360x120",
    **OF_ALL,
    'muster_experiment_gang_restarts_total{namespace="vision",experiment="a",instance="x"}': "3x100 stale",
    'muster_experiment_gang_restarts_total{namespace="vision",experiment="a",instance="y"}': "_x101 4x140",
    'muster_experiment_gang_restarts_total{namespace="vision",experiment="b"}': "0x240",
    'muster_experiment_restarts_total{namespace="vision",experiment="a",reason="Error"}': "2x240",
    'muster_experiment_restarts_total{namespace="vision",experiment="a",reason="OOMKilled"}': "1x240",
    'muster_experiment_restarts_total{namespace="vision",experiment="a",reason="NodeLost"}': "1x240",
    'muster_experiment_disruptions_total{namespace="vision",experiment="a"}': "1x240",
    'muster_experiment_ranks_missing{namespace="vision",experiment="a"}': "2x240",
    'muster_experiment_ranks_missing{namespace="vision",experiment="b"}': "1x240",
    'muster_namespace_experiments_stuck{namespace="vision"}': "3x240",
    'muster_namespace_experiments_stuck{namespace="audio"}': "0x240",
    'muster_time_to_assembled_seconds_bucket{operator="jax",le="10"}': "0+1x240",
    'muster_time_to_assembled_seconds_bucket{operator="jax",le="30"}': "0+2x240",
    'muster_time_to_assembled_seconds_bucket{operator="jax",le="+Inf"}': "0+2x240",
    'muster_restart_downtime_seconds_bucket{operator="jax",le="60"}': "0+1x240",
    'muster_restart_downtime_seconds_bucket{operator="jax",le="+Inf"}': "0+1x240",
}
"""Two hours in steps of 30 s: ``a`` is productive in the first of them only, ``b`` half of the time. There may be more
runs in the namespace, which have no series of their own. ``b`` is well, and lacks what is 0."""

A = 'namespace="vision",experiment="a"'
B = 'namespace="vision",experiment="b"'
EXPECTED: Answers = {
    "experiment:muster_gang_restarts:max": {A: 4, B: 0},
    "experiment:muster_failures:max": {A: 3, B: 0},
    "experiment:muster_disruptions:max": {A: 1, B: 0},
    "experiment:muster_wall_seconds:max": {A: 7200, B: 7200},
    "experiment:muster_productive_seconds:max": {A: 3600, B: 3600},
    "experiment:muster_taken_back_seconds:max": {A: 360, B: 0},
    "experiment:muster_goodput:ratio": {A: 0.45, B: 0.5},
    "experiment:muster_goodput:ratio_rate1h": {A: 0, B: 0.5},
    "namespace:muster_seconds:rate5m": {
        f'namespace="vision",bucket="{bucket}"': round(more / 30, 3) for bucket, more in MOVES.items()
    },
    "namespace:muster_accelerator_seconds:rate5m": {
        f'namespace="vision",bucket="{bucket}"': round(more / 30, 3) for (_, bucket), more in HELD_MOVES.items()
    },
    "namespace:muster_goodput:ratio_rate1h": {'namespace="vision"': 0.25},
    "namespace:muster_ranks_missing:sum": {'namespace="vision"': 3, 'namespace="audio"': 0},
    "namespace:muster_experiments_stuck:sum": {'namespace="vision"': 3, 'namespace="audio"': 0},
    "operator:muster_time_to_assembled_seconds:p95_rate1h": {'operator="jax"': 28},
    "operator:muster_restart_downtime_seconds:p95_rate1h": {'operator="jax"': 57},
    "namespace:muster_wasted_seconds:rate5m": {'namespace="vision"': 0.3},
    "namespace:muster_wall_seconds:rate5m": {'namespace="vision"': 2},
    "namespace:muster_wasted_accelerator_seconds:rate5m": {'namespace="vision"': 1.6},
    "namespace:muster_wall_accelerator_seconds:rate5m": {'namespace="vision"': 8.8},
    **{f"namespace:muster_wasted_accelerators:ratio_rate{window}": {'namespace="vision"': 0.182} for window in WINDOWS},
    **{f"namespace:muster_wasted:ratio_rate{window}": {'namespace="vision"': 0.15} for window in WINDOWS},
}


def holds(
    series: Mapping[str, str], expected: Answers, at: int, folder: Path, rules: Sequence[Path] = (RULES, SLO_RULES)
) -> None:
    """Each query has these answers, rounded, at that second, by these files of rules."""
    order = [group.name for group in GROUPS]
    found = {f"round({query}, 0.001)": {f"{{{k}}}": v for k, v in each.items()} for query, each in expected.items()}
    assert answered(rules, order, series, found, at, folder, "30s") == ""


def test_every_recorded_series_has_the_value_that_its_meaning_says(tmp_path: Path) -> None:
    holds(SERIES, EXPECTED, 7200, tmp_path)


@pytest.mark.parametrize(
    ("weight", "held", "fires"), [("", 64, False), ("_accelerators", 64, True), ("_accelerators", 1, False)]
)
def test_by_accelerators_the_alerts_follow_what_holds_most(weight: str, held: int, fires: bool, tmp_path: Path) -> None:
    """Of 20 runs the first holds 64 accelerators, the others one each; one is stuck for an hour and a half."""
    series = {
        f'{name}{{{LED_BY_X},namespace="vision",operator="jax",bucket="{bucket}"{resource}}}': f"0+{30 * rate}x240"
        for name, resource, rates in (
            ("muster_namespace_seconds_total", "", {"productive": 19, "stuck": 1, "taken_back": 0}),
            (
                "muster_namespace_accelerator_seconds_total",
                ',resource="nvidia.com/gpu"',
                {"productive": 83 - held, "stuck": held, "taken_back": 0},
            ),
        )
        for bucket, rate in rates.items()
    }
    rules = tmp_path / "weighed.rules.yaml"  # as the chart does with prometheusRule.slo.weight
    rules.write_text(
        SLO_RULES.read_text()
        .replace("(namespace:muster_wasted:", f"(namespace:muster_wasted{weight}:")
        .replace("and namespace:muster_wasted:", f"and namespace:muster_wasted{weight}:")
    )
    firing = 'count(ALERTS{alertname="MusterGoodputBurnsFast",alertstate="firing"})'
    holds(series, {firing: {"": 1} if fires else {}}, 5400, tmp_path, (RULES, rules))


HOURS = 120
"""Samples, 30 s apart."""


def a_day_later() -> Iterator[tuple[str, str]]:
    """A run of 4,096 accelerators is stuck for half of its 12 hours, and ends. One of a single one goes on to 36 h."""
    common = f'{LED_BY_X},namespace="vision",operator="jax"'
    for name, large in (
        (f"muster_namespace_seconds_total{{{common}", 1),
        (f'muster_namespace_accelerator_seconds_total{{{common},resource="nvidia.com/gpu"', 4096),
    ):
        half = 15 * large
        end = 12 * HOURS
        yield f'{name},bucket="stuck"}}', f"0+{half}x{end} {half * end}+0x{24 * HOURS}"
        yield f'{name},bucket="productive"}}', f"0+{half + 30}x{end} {(half + 30) * end}+30x{24 * HOURS}"
        yield f'{name},bucket="taken_back"}}', f"0+0x{36 * HOURS}"


def test_a_run_of_many_accelerators_that_ended_yesterday_weighs_what_it_held(tmp_path: Path) -> None:
    """Neither of them has series of its own, as above the cap of a scrape. Nothing is held now but one accelerator."""
    waste = {"_accelerators": 4096 * 6 / (4096 * 12 + 36), "": 6 / 48}
    expected: Answers = {
        f"namespace:muster_wasted{weight}:ratio_rate3d": {'namespace="vision"': round(share, 3)}
        for weight, share in waste.items()
    }
    now = {"namespace:muster_wall_accelerator_seconds:rate5m": {'namespace="vision"': 1.0}}
    for title, weight in (("By accelerators, 3 days", "_accelerators"), ("Goodput, last 3 days", "")):
        (target,) = panel_of("muster-goodput", title)["targets"]
        query = interpolated(target["expr"], {"cluster": ".*", "shard": ".*", "namespace": ".*"})
        expected |= {f"sum({query})": {"": round(1 - waste[weight], 3)}}
    few = tmp_path / "few.rules.yaml"  # alerts each 5 s of 36 hours would take minutes
    few.write_text(plain(tuple(group for group in GROUPS if group.name in ("muster-recordings", "muster-slo"))))
    holds(dict(a_day_later()), {**expected, **now}, 36 * 3600, tmp_path, (few,))


def test_every_recording_is_tested() -> None:
    assert set(EXPECTED) == {row.name for row in (*RECORDINGS, *SLO_RECORDINGS)}
