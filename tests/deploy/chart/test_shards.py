"""Several releases in one cluster, each a shard: their rules are apart, and their series have its label."""

import json
import re
from pathlib import Path

import pytest
import yaml

from deploy.helm.copies import ROOT
from deploy.prometheus.groups import GROUPS
from tests.deploy.chart.conftest import Rendered, arguments, one
from tests.deploy.chart.shapes import problems
from tests.deploy.chart.test_monitoring import ALL, MONITORING
from tests.deploy.prometheus.case import DAEMON, EXPERIMENT, reason, with_audience
from tests.deploy.prometheus.promtool import answered, check
from tests.deploy.prometheus.test_gaps import of_shard
from tests.docs.pages import blocks

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


QUERIED = re.compile(r"(?<![\w:])(?:[a-z]+:)?(?:muster_[a-z0-9_:]+|up\b|ALERTS\b)(?!\()(\{[^}]*\})?")


@pytest.mark.parametrize("more", [(), ("--set", "prometheusRule.clusters={eu,us}")], ids=["one", "clusters"])
def test_the_rules_of_a_release_with_a_shard_are_about_that_shard_alone(
    rendered: Rendered, more: tuple[str, ...], tmp_path: Path
) -> None:
    """So the rules of two releases record no series twice, and each misses its own musterd."""
    spec = one(rendered(*ALL, *more, "--set", "settings.shard=vision"), "PrometheusRule")["spec"]
    found = [rule for group in spec["groups"] for rule in group["rules"]]
    for rule in found:
        selectors = QUERIED.findall(re.sub(r'"[^"]*"', lambda text: text[0].replace("}", ""), rule["expr"]))
        assert selectors
        assert all(selector.startswith('{shard="vision"') for selector in selectors), rule["expr"]
    standard = one(rendered(*ALL, *more), "PrometheusRule")["spec"]
    text = json.dumps(spec).replace(r"{shard=\"vision\"}", "").replace(r"{shard=\"vision\",", "{")
    assert json.loads(text) == standard
    file = tmp_path / "shard.rules.yaml"
    file.write_text(yaml.safe_dump(spec))
    assert check(file) == ""


def test_all_series_of_a_shard_have_its_label_and_musterd_shows_its_name(rendered: Rendered) -> None:
    own = [{"targetLabel": "zone", "replacement": "a"}]
    values = ("--set", "settings.shard=vision", "--set-json", f"serviceMonitor.relabelings={json.dumps(own)}")
    objects = rendered(*MONITORING, *values)
    monitor = one(objects, "ServiceMonitor")
    assert problems(monitor) == []
    assert monitor["spec"]["endpoints"][0]["relabelings"] == [{"targetLabel": "shard", "replacement": "vision"}, *own]
    assert "--shard=vision" in arguments(objects)
    assert "relabelings" not in one(rendered(*MONITORING), "ServiceMonitor")["spec"]["endpoints"][0]


SHARDS = ("vision", "nlp")
NAMED = re.compile(r"^# (?:.* )?((?:production|team-[ab])\.yaml)")
SHARED = ("CustomResourceDefinition", "ConfigMap")
"""Objects of the first release that serve all: the kind, and the dashboards."""


def test_rules_of_two_releases_record_and_report_each_shard_once(rendered: Rendered, tmp_path: Path) -> None:
    """Of the second shard no musterd was ever scraped after the first minutes; its run is not heard of either."""
    files = []
    for shard in SHARDS:
        spec = one(rendered(*ALL, "--set", f"settings.shard={shard}"), "PrometheusRule")["spec"]
        spec["groups"] = [{**group, "name": f"{group['name']}-{shard}"} for group in spec["groups"]]
        files.append(tmp_path / f"{shard}.rules.yaml")
        files[-1].write_text(yaml.safe_dump(spec))
    stuck = {'muster_namespace_experiments_stuck{namespace="vision"}': "1x1000"}
    world = {**DAEMON, **EXPERIMENT, **reason("RanksMissing", "1x1000"), **stuck}
    series = {with_audience(of_shard(name, "vision")): values for name, values in world.items()}
    firing = 'ALERTS{alertname="%s",alertstate="firing"}'
    down, missing = firing % "MusterDaemonDown", firing % "MusterRankMissing"
    expected: dict[str, dict[str, float]] = {
        "count by (shard, namespace) (namespace:muster_experiments_stuck:sum)": {
            '{namespace="vision",shard="vision"}': 1
        },
        f"count by (shard) ({down})": {'{shard="nlp"}': 1},
        f"count by (shard) ({missing})": {'{shard="vision"}': 1},
    }
    order = [f"{group.name}-{shard}" for shard in SHARDS for group in GROUPS]
    assert answered(files, order, series, expected, 600, tmp_path) == ""


def test_releases_of_the_page_share_no_object(rendered: Rendered, tmp_path: Path) -> None:
    """Each takes a file of docs/chart.md beside the values for production."""
    pages = (ROOT / f"docs/{page}.md" for page in ("platform", "chart"))
    for name, block in (
        (found[1], each) for page in pages for each in blocks(page) if (found := NAMED.search(each.first))
    ):
        (tmp_path / name).write_text(block.body, encoding="utf-8")
    releases = [
        rendered(*MONITORING, *(f"--values={tmp_path / name}" for name in ("production.yaml", own)))
        for own in ("team-a.yaml", "team-b.yaml")
    ]
    seen: set[tuple[str, str, str]] = set()
    for objects, team in zip(releases, ("team-a", "team-b"), strict=True):
        assert not [problem for each in objects for problem in problems(each)]
        assert f"--namespace={team}" in arguments(objects)
        own = {(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]) for each in objects}
        assert not seen & own, "Helm refuses an object of another release"
        seen |= own
    hosts = [one(objects, "Ingress")["spec"]["rules"][0]["host"] for objects in releases]
    assert len(set(hosts)) == len(hosts), "each page takes all paths of its host"
    kinds = [sum(each["kind"] in SHARED for each in objects) for objects in releases]
    assert kinds[0] > 0
    assert kinds[1:] == [0]
