"""A pair of Prometheus whose series one ruler has twice, and clocks a quarter of an hour apart."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.deploy.prometheus import promtool
from tests.deploy.prometheus.case import DAEMON, ONE, Case, reason
from tests.deploy.prometheus.cases.clusters import BASE, HEALTHY, MISSING, TEXT
from tests.deploy.prometheus.cases.clusters import ONE as OF_ONE

_LEADERS = {
    f'muster_leader{{job="musterd",instance="{instance}",identity="{instance}"}}': values
    for instance, values in (("a", "1x11 stale"), ("b", "0x11 1x11 stale"), ("c", "_x24 1x1000"))
}
_A = 'job="musterd",instance="a"'
_B = 'job="musterd",instance="b"'
_VERDICTS = f'muster_restart_verdicts_total{{{_A},verdict="SameFailureAgain",enforced="true"}}'


def _twice(series: Mapping[str, str]) -> dict[str, str]:
    """Each series as both replicas have sent it, without a proxy or a ruler that takes one of them."""
    return {
        name.replace("{", f'{{prometheus_replica="{each}",', 1): values
        for name, values in {**HEALTHY, **series}.items()
        for each in "xy"
    }


PAIRS = (
    Case("MusterReplicaMissing", "one of two ends for good, and each series is there twice",
        _twice({f"muster_build_info{{{_B}}}": "1x11 stale", f"up{{{_B}}}": "1x11 stale"}), fires_after=900,
        labels={"job": "musterd"}, summary="Of 2 musterd of job musterd 1 can be scraped.", without=BASE),
    Case("MusterLeaderChanges", "an upgrade has three leaders, and each series is there twice", _twice(_LEADERS),
        without=BASE),
    Case("MusterSameFailureEnded", "two experiments end, and each series is there twice: two, not four",
        _twice({_VERDICTS: "0x11 1x11 2x1000"}),
        fires_after=60, labels={"verdict": "SameFailureAgain"},
        summary="Experiments that ended within 30m because their gang failed in the same way again: 2.", at_once=False,
        without=BASE),
    Case("MusterRankMissing", "a rank is missing, and each series is there twice: one alert", _twice(MISSING),
        fires_after=120, labels=OF_ONE, summary=TEXT, without=BASE),
    *(
        Case(
            "MusterObservedRunStuck",
            f"the clock of Prometheus is a quarter of an hour {way} that of musterd, and a run is stuck for 14 minutes",
            {
                **{name: f"{skew}+5x1000" for name in DAEMON if name.startswith("muster_clock_timestamp")},
                f'muster_experiment_info{{{ONE},operator="jax",engine="observe"}}': "1x1000",
                f'muster_experiment_clock_action{{{ONE},clock="total",action="Fail"}}': "0x1000",
                f'muster_experiment_clock_action{{{ONE},clock="total",action="Alert"}}': "1x1000",
                **reason("StatusIsFalse"),
                f"muster_experiment_stuck_since_timestamp_seconds{{{ONE}}}": f"_x12 {skew + 60}x1000",
            },
            watched=895,
            also=("MusterStatusIsFalse",),
        )
        for way, skew in (("ahead of", -900), ("behind", 900))
    ),
)  # fmt: skip


@pytest.mark.slow
def test_a_pair_of_prometheus_and_a_clock_that_is_off_change_no_alert(tmp_path: Path) -> None:
    assert promtool.run(PAIRS, tmp_path) == ""
