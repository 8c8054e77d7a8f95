"""What keeps other alerts back goes on for longer than they do, whatever gap there is in what Prometheus hears."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from deploy.prometheus.groups import GROUPS
from tests.deploy.prometheus.case import DAEMON, EXPERIMENT, ONE, reason, with_audience
from tests.deploy.prometheus.promtool import RULES, answered

INHIBITIONS = yaml.safe_load(RULES.with_name("alertmanager.yaml").read_text())["inhibit_rules"]
SHIPPED = {
    rule["alert"]: rule
    for group in yaml.safe_load(RULES.read_text())["groups"]
    for rule in group["rules"]
    if "alert" in rule
}
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(duration: str) -> int:
    return int(duration[:-1]) * UNITS[duration[-1]]


def matches(name: str, matchers: list[str]) -> bool:
    """Whether alerts of that name meet the matchers of the name and of the experiment."""
    for matcher in matchers:
        label, how, pattern = re.fullmatch(r'(\w+)(=~|!~|=)"(.*)"', matcher).groups()  # type: ignore[union-attr]
        found = {"alertname": name, "experiment": "llama" if "experiment" in SHIPPED[name]["expr"] else ""}.get(label)
        if found is not None and bool(re.fullmatch(pattern, found)) == (how == "!~"):
            return False
    return True


def pairs() -> Iterator[tuple[str, str]]:
    """Each alert that keeps another one back, with that one."""
    for row in INHIBITIONS:
        for source in SHIPPED:
            if matches(source, row["source_matchers"]):
                yield from (
                    (source, target)
                    for target in SHIPPED
                    if target != source and matches(target, row["target_matchers"])
                )


UNSENT = {"MusterRunExplained"}
CHAINS = {pair for pair in pairs() if pair[::-1] not in set(pairs()) and pair[1] not in UNSENT}


@pytest.mark.parametrize("pair", sorted(CHAINS), ids="-".join)
def test_an_alert_that_keeps_another_back_goes_on_for_longer(pair: tuple[str, str]) -> None:
    source, target = (SHIPPED[name] for name in pair)
    assert seconds(source["keep_firing_for"]) > seconds(target.get("keep_firing_for", "0s"))
    if "ALERTS{" in target["expr"] and "experiment" in source["expr"]:
        assert f'ALERTS{{alertname="{pair[0]}"' in source["expr"], "the target goes on through a gap, it does not"


def test_each_row_of_the_inhibitions_has_a_source_and_a_target() -> None:
    assert {row["equal"][:2] == ["cluster", "shard"] for row in INHIBITIONS} == {True}
    sources = {source for source, _ in CHAINS}
    assert {"MusterRunExplained", "MusterRankMissing", "MusterHung", "MusterNoLeader", "MusterDaemonDown"} <= sources


INCIDENT = 'muster_incident_runs{kind="rack",subject="r7",cause="NodeNotReady",scope="cluster",audience="platform"}'
WORLD = {
    **DAEMON,
    **EXPERIMENT,
    **reason("RanksMissing", "1x1000"),
    INCIDENT: "3x1000",
    f"muster_experiment_explained{{{ONE}}}": "1x1000",
}
GONE_FOR = {"a minute": 12, "ten minutes": 120}
BEFORE = 60
"""Samples before the gap: five minutes, in which all alerts have fired."""


def broken(values: str, samples: int, *, stale: bool) -> str:
    """The series without these samples. ``stale``: its scrapes fail. Otherwise none comes, as in a remote write."""
    start, step = re.match(r"(\d+)([+-]\d+)?x", values).groups("+0")  # type: ignore[union-attr]
    gap = f"stale _x{samples - 1}" if stale else f"_x{samples}"
    return f"{start}{step}x{BEFORE - 1} {gap} {int(start) + int(step) * (BEFORE + samples)}{step}x400"


@pytest.mark.slow
@pytest.mark.parametrize("how", ["scrapes fail", "a remote write stalls"])
@pytest.mark.parametrize("length", GONE_FOR)
@pytest.mark.parametrize("shards", [("",), ("a", "b")], ids=["one musterd", "two shards, one of which is lost"])
def test_through_a_gap_an_incident_goes_on_and_keeps_its_runs_back(
    shards: tuple[str, ...], length: str, how: str, tmp_path: Path
) -> None:
    samples = GONE_FOR[length]
    series: dict[str, str] = {}
    for shard in shards:
        for name, values in WORLD.items():
            if " " in values:
                continue
            lost = shard == shards[-1]
            written = broken(values, samples, stale=how == "scrapes fail") if lost else values
            series[with_audience(of_shard(name, shard))] = written
    of_lost = f'shard="{shards[-1]}"'
    end = (BEFORE + samples + 60) * 5
    firing = 'ALERTS{alertstate="firing",alertname="%s",' + of_lost + "}"
    incident, explained, missing = (firing % f"Muster{name}" for name in ("Incident", "RunExplained", "RankMissing"))
    window = f"[{end - 240}s:5s]"
    by = "namespace, experiment"
    down = 'count(max_over_time(ALERTS{alertstate="firing",alertname="MusterDaemonDown",%s}' + window + "))"
    one: dict[str, float] = {"{}": 1}
    queries: dict[str, dict[str, float]] = {
        f"count(count_over_time(({incident}){window}) < {(end - 240) // 5})": {},
        f"count(max_over_time((max by ({by}) ({missing}) unless on ({by}) max by ({by}) ({explained})){window}))": {},
        f"count({incident} and on () {explained} and on () {missing})": one,
        down % of_lost: one if length == "ten minutes" else {},
    }
    if len(shards) > 1:
        queries[down % 'shard="a"'] = {}
    order = [group.name for group in GROUPS if not group.option]
    assert answered([RULES], order, series, queries, end, tmp_path) == ""


def of_shard(name: str, shard: str) -> str:
    return name.replace("{", f'{{shard="{shard}",', 1) if shard else name
