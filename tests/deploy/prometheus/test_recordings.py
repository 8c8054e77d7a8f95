"""What each recorded series is, on two experiments of one namespace, evaluated by promtool."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.prometheus.recordings import RECORDINGS
from deploy.prometheus.slo import SLO_RECORDINGS, WINDOWS
from tests.deploy.prometheus.binaries import Unavailable, program
from tests.deploy.prometheus.promtool import RULES, SLO_RULES

pytestmark = pytest.mark.slow

SERIES = {
    'muster_experiment_wall_seconds_total{namespace="vision",experiment="a"}': "0+30x240",
    'muster_experiment_productive_seconds_total{namespace="vision",experiment="a"}': "0+30x120 3600+0x120",
    'muster_experiment_wall_seconds_total{namespace="vision",experiment="b"}': "0+30x240",
    'muster_experiment_productive_seconds_total{namespace="vision",experiment="b"}': "0+15x240",
    'muster_experiment_taken_back_seconds_total{namespace="vision",experiment="a"}': "0x120 360x120",
    'muster_experiment_taken_back_seconds_total{namespace="vision",experiment="b"}': "0x240",
    'muster_experiment_badput_seconds_total{namespace="vision",experiment="a",source="stuck",instance="x"}': "0+3x240",
    'muster_experiment_badput_seconds_total{namespace="vision",experiment="a",source="stuck",instance="y"}': "0+3x240",
    'muster_experiment_badput_seconds_total{namespace="vision",experiment="a",source="lost"}': "0+3x240",
    'muster_experiment_badput_seconds_total{namespace="vision",experiment="a",source="queued"}': "0+9x240",
    'muster_experiment_badput_seconds_total{namespace="vision",experiment="b",source="recovery"}': "0+3x240",
    'muster_experiment_accelerators{namespace="vision",experiment="a",resource="nvidia.com/gpu",instance="x"}': "8x240",
    'muster_experiment_accelerators{namespace="vision",experiment="a",resource="nvidia.com/gpu",instance="y"}': "8x240",
    'muster_experiment_accelerators{namespace="vision",experiment="b",resource="nvidia.com/gpu"}': "3x240",
    'muster_experiment_accelerators{namespace="vision",experiment="b",resource="google.com/tpu"}': "1x240",
    'muster_experiment_gang_restarts_total{namespace="vision",experiment="a",instance="x"}': "3x100 stale",
    'muster_experiment_gang_restarts_total{namespace="vision",experiment="a",instance="y"}': "_x101 4x140",
    'muster_experiment_gang_restarts_total{namespace="vision",experiment="b"}': "0x240",
    'muster_experiment_restarts_total{namespace="vision",experiment="a",reason="Error"}': "2x240",
    'muster_experiment_restarts_total{namespace="vision",experiment="a",reason="OOMKilled"}': "1x240",
    'muster_experiment_restarts_total{namespace="vision",experiment="a",reason="NodeLost"}': "1x240",
    'muster_experiment_disruptions_total{namespace="vision",experiment="a"}': "1x240",
    'muster_experiment_ranks_missing{namespace="vision",experiment="a"}': "2x240",
    'muster_experiment_ranks_missing{namespace="vision",experiment="b"}': "1x240",
    'muster_experiment_stuck{namespace="vision",experiment="a"}': "1x240",
    'muster_experiment_stuck{namespace="vision",experiment="b"}': "0x240",
    'muster_time_to_assembled_seconds_bucket{operator="jax",le="10"}': "0+1x240",
    'muster_time_to_assembled_seconds_bucket{operator="jax",le="30"}': "0+2x240",
    'muster_time_to_assembled_seconds_bucket{operator="jax",le="+Inf"}': "0+2x240",
    'muster_restart_downtime_seconds_bucket{operator="jax",le="60"}': "0+1x240",
    'muster_restart_downtime_seconds_bucket{operator="jax",le="+Inf"}': "0+1x240",
}
"""Two hours in steps of 30 s: ``a`` is productive in the first of them only, ``b`` half of the time."""

A = 'namespace="vision",experiment="a"'
B = 'namespace="vision",experiment="b"'
EXPECTED: dict[str, dict[str, float]] = {
    "experiment:muster_gang_restarts:max": {A: 4, B: 0},
    "experiment:muster_failures:max": {A: 3, B: 0},
    "experiment:muster_disruptions:max": {A: 1},
    "experiment:muster_wall_seconds:max": {A: 7200, B: 7200},
    "experiment:muster_productive_seconds:max": {A: 3600, B: 3600},
    "experiment:muster_taken_back_seconds:max": {A: 360, B: 0},
    "experiment:muster_goodput:ratio": {A: 0.45, B: 0.5},
    "experiment:muster_goodput:ratio_rate1h": {A: 0, B: 0.5},
    "namespace:muster_goodput:ratio_rate1h": {'namespace="vision"': 0.2},
    "namespace:muster_ranks_missing:sum": {'namespace="vision"': 3},
    "namespace:muster_experiments_stuck:sum": {'namespace="vision"': 1},
    "operator:muster_time_to_assembled_seconds:p95_rate1h": {'operator="jax"': 28},
    "operator:muster_restart_downtime_seconds:p95_rate1h": {'operator="jax"': 57},
    "experiment:muster_wasted_seconds:max": {A: 1440, B: 720},
    "namespace:muster_wasted_seconds:rate5m": {'namespace="vision"': 0.3},
    "namespace:muster_wall_seconds:rate5m": {'namespace="vision"': 2},
    "experiment:muster_accelerators:max5m": {A: 8, B: 4},
    "namespace:muster_wasted_accelerator_seconds:rate5m": {'namespace="vision"': 2},
    "namespace:muster_wall_accelerator_seconds:rate5m": {'namespace="vision"': 12},
    **{f"namespace:muster_wasted_accelerators:ratio_rate{window}": {'namespace="vision"': 0.167} for window in WINDOWS},
    **{f"namespace:muster_wasted:ratio_rate{window}": {'namespace="vision"': 0.15} for window in WINDOWS},
}


def test_every_recorded_series_has_the_value_that_its_meaning_says(tmp_path: Path) -> None:
    tests = [
        {
            "expr": f"round({name}, 0.001)",
            "eval_time": "2h",
            "exp_samples": [{"labels": f"{{{labels}}}", "value": value} for labels, value in samples.items()],
        }
        for name, samples in EXPECTED.items()
    ]
    series = [{"series": name, "values": values} for name, values in SERIES.items()]
    group = {"interval": "30s", "input_series": series, "promql_expr_test": tests}
    _holds(group, SLO_RULES, tmp_path)


@pytest.mark.parametrize(
    ("weight", "stuck", "fires"), [("", 0, False), ("_accelerators", 0, True), ("_accelerators", 1, False)]
)
def test_by_accelerators_the_alerts_follow_what_holds_most(
    weight: str, stuck: int, fires: bool, tmp_path: Path
) -> None:
    """Of 20 runs the first holds 64 accelerators, the others one each; one of them is stuck for an hour and a half."""
    series = {}
    for run in range(20):
        one = f'namespace="vision",experiment="e{run}"'
        series[f"muster_experiment_wall_seconds_total{{{one}}}"] = "0+30x240"
        series[f'muster_experiment_badput_seconds_total{{{one},source="stuck"}}'] = f"0+{30 * (run == stuck)}x240"
        series[f'muster_experiment_accelerators{{{one},resource="nvidia.com/gpu"}}'] = f"{1 if run else 64}x240"
    rules = tmp_path / "weighed.rules.yaml"  # as the chart does with prometheusRule.slo.weight
    rules.write_text(
        SLO_RULES.read_text()
        .replace("(namespace:muster_wasted:", f"(namespace:muster_wasted{weight}:")
        .replace("and namespace:muster_wasted:", f"and namespace:muster_wasted{weight}:")
    )
    group = {
        "interval": "30s",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {
                "expr": 'count(ALERTS{alertname="MusterGoodputBurnsFast",alertstate="firing"})',
                "eval_time": "90m",
                "exp_samples": [{"labels": "{}", "value": 1}] if fires else [],
            }
        ],
    }
    _holds(group, rules, tmp_path)


def _holds(group: dict[str, Any], slo: Path, folder: Path) -> None:
    try:
        promtool = program("promtool")
    except Unavailable as reason:
        pytest.skip(str(reason))
    document = {"rule_files": [str(RULES), str(slo)], "evaluation_interval": "30s", "tests": [group]}
    (folder / "recordings.yaml").write_text(yaml.safe_dump(document))
    command = [str(promtool), "test", "rules", str(folder / "recordings.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_recording_is_tested() -> None:
    assert set(EXPECTED) == {row.name for row in (*RECORDINGS, *SLO_RECORDINGS)}
