"""The panel of restarts shows each failure, however many members the platform took meanwhile."""

from pathlib import Path

import pytest

from tests.deploy.grafana.answers import interpolated
from tests.deploy.grafana.test_dashboards import board
from tests.deploy.prometheus.promtool import answered

pytestmark = pytest.mark.slow

ONE = 'namespace="vision",experiment="llama"'
OTHER = 'namespace="vision",experiment="other"'


def restarts(one: str, **reasons: int) -> dict[str, str]:
    """The restarts by reason, as the leader exports them."""
    return {
        f'muster_experiment_restarts_total{{{one},reason="{name}"}}': f"{count}x9" for name, count in reasons.items()
    }


SERIES = {
    f"muster_experiment_gang_restarts_total{{{ONE}}}": "4x9",
    f"muster_experiment_disruptions_total{{{ONE}}}": "4x9",
    **restarts(ONE, Error=3, AssemblyDeadlineExceeded=1, PreemptionByScheduler=3, NodeLost=1, Requested=1),
    f'muster_experiment_restarts_total{{{ONE},reason="Error",instance="b"}}': "2x9",
    f"muster_experiment_gang_restarts_total{{{OTHER}}}": "0x9",
    f"muster_experiment_disruptions_total{{{OTHER}}}": "0x9",
}
"""Four failures, three of a container and one of a clock, and four disruptions of members that run again alone."""

EXPECTED = {"llama": {"failures": 4, "disruptions": 4}, "other": {"failures": 0, "disruptions": 0}}


def test_failures_are_shown_beside_as_many_disruptions_and_zero_before_the_first(tmp_path: Path) -> None:
    shown = {query.legend: query.expr for query in board("muster-experiment").queries if query.number == 30}
    expected = {
        interpolated(shown[legend], {"cluster": "", "namespace": "vision", "experiment": experiment}): {"{}": value}
        for experiment, values in EXPECTED.items()
        for legend, value in values.items()
    }
    assert answered([], [], SERIES, expected, 30, tmp_path, "30s") == ""
