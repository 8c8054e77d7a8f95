"""Two clusters under one Prometheus: what happens in one of them is neither hidden nor answered by the other."""

from collections.abc import Mapping

from tests.deploy.prometheus.case import BEGINS, DAEMON, EXPERIMENT, Case, reason

BASE = tuple({name.partition("{")[0] for name in {**DAEMON, **EXPERIMENT}})


def _of(cluster: str, series: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("{", f'{{cluster="{cluster}",', 1): values for name, values in series.items()}


HEALTHY = {**DAEMON, **EXPERIMENT}
_BOTH = {**_of("eu", HEALTHY), **_of("us", HEALTHY)}
_LEADS = 'muster_leader{job="musterd",instance="a",identity="a"}'
_SEEN = 'muster_leader_seen{job="musterd",instance="b"}'
_UP = {f'muster_build_info{{job="musterd",instance="{each}"}}': "1x11 stale" for each in "ab"}
_GONE = {name: "1x11 stale" for name in HEALTHY if "job=" in name}
MISSING = {**reason("RanksMissing"), 'muster_experiment_ranks_missing{namespace="vision",experiment="llama"}': BEGINS}
ONE = {"namespace": "vision", "experiment": "llama"}
TEXT = "vision/llama: the roll is not complete: 1 missing, reason RanksMissing, the others wait."

CLUSTERS = (
    Case("MusterNoLeader", "of two clusters one has no leader",
        {**_BOTH, **_of("us", {_LEADS: "1x11 0x1000", _SEEN: "1x11 0x1000"})}, fires_after=60,
        labels={"cluster": "us", "job": "musterd"}, summary="us: No musterd of job musterd leads.", without=BASE),
    Case("MusterDaemonDown", "of two clusters one has no musterd any more", {**_BOTH, **_of("us", {**_UP, **_GONE})},
        fires_after=60, labels={"cluster": "us", "job": "musterd"}, summary="us: No musterd of job musterd is scraped.",
        without=BASE),
    Case("MusterRankMissing", "an experiment of one name in two clusters, and both are stuck: two alerts",
        {**_BOTH, **_of("us", MISSING), **_of("eu", MISSING)}, fires_after=120, labels={"cluster": "us", **ONE},
        summary=f"us: {TEXT}", more=(({"cluster": "eu", **ONE}, f"eu: {TEXT}"),), without=BASE),
)  # fmt: skip
