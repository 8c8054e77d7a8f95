"""The rules and dashboards that the chart installs are those of deploy/prometheus and deploy/grafana."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.grafana.__main__ import BOARDS, FOLDER
from deploy.grafana.render import text
from deploy.helm.copies import ROOT
from deploy.prometheus import groups
from deploy.prometheus.text import plain
from deploy.prometheus.values import defaults
from tests.deploy.chart.conftest import Object, Rendered, arguments, one
from tests.deploy.chart.shapes import problems
from tests.docs.pages import blocks

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
MONITORING = ("--api-versions", "monitoring.coreos.com/v1")
ALL = (*MONITORING, "--set", "prometheusRule.slo.enabled=true")
ALERTS: dict[str, dict[str, Any]] = defaults()["alerts"]
UNPLACED = {alert.name for alert in groups.ALERTS if not alert.placed}


def rules(objects: list[Object]) -> dict[str, Object]:
    """The alerts by name."""
    groups = one(objects, "PrometheusRule")["spec"]["groups"]
    return {rule["alert"]: rule for group in groups for rule in group.get("rules") or () if "alert" in rule}


def boards(objects: list[Object]) -> dict[str, Any]:
    """The dashboards by the names of their files."""
    maps = [each for each in objects if each["kind"] == "ConfigMap"]
    return {name: json.loads(content) for each in maps for name, content in each["data"].items()}


def test_by_default_the_rules_are_those_that_promtool_tests(rendered: Rendered) -> None:
    plain = yaml.safe_load((ROOT / "deploy/prometheus/muster.rules.yaml").read_text(encoding="utf-8"))
    chart = one(rendered(*MONITORING), "PrometheusRule")["spec"]
    for rule in (rule for group in chart["groups"] for rule in group["rules"] if rule.get("alert") in UNPLACED):
        assert rule["labels"].pop("namespace") == "muster-system", "its expression has none: that of the release"
    assert chart == plain


def test_the_rules_of_the_objective_are_those_that_promtool_tests(rendered: Rendered) -> None:
    plain = yaml.safe_load((ROOT / "deploy/prometheus/muster-slo.rules.yaml").read_text(encoding="utf-8"))
    groups = one(rendered(*ALL), "PrometheusRule")["spec"]["groups"]
    assert groups[-1:] == plain["groups"]
    standard = one(rendered(*MONITORING), "PrometheusRule")["spec"]["groups"]
    assert groups[:-1] == standard
    other = one(rendered(*ALL, "--set-json", "prometheusRule.slo.objective=0.9"), "PrometheusRule")["spec"]["groups"]
    assert "14.4 * (1 - 0.9)" in other[-1]["rules"][-2]["expr"]


@pytest.mark.parametrize(("given", "read"), [("0.9", "0.9"), ("90%", "0.9"), ("99.5%", "0.995"), (".97", ".97")])
def test_the_objective_may_be_a_text_as_set_passes_it(rendered: Rendered, given: str, read: str) -> None:
    found = rules(rendered(*ALL, "--set", f"prometheusRule.slo.objective={given}"))
    assert f"14.4 * (1 - {read}) and" in found["MusterGoodputBurnsFast"]["expr"]


def test_with_accelerators_as_weight_the_alerts_read_the_series_that_they_weigh(rendered: Rendered) -> None:
    standard = rules(rendered(*ALL))
    weighed = rules(rendered(*ALL, "--set", "prometheusRule.slo.weight=accelerators"))
    for name in ("MusterGoodputBurnsFast", "MusterGoodputBurnsSlowly"):
        expr, summary = standard[name]["expr"], standard[name]["annotations"]["summary"]
        assert weighed[name]["expr"] == expr.replace("muster_wasted:ratio", "muster_wasted_accelerators:ratio")
        assert weighed[name]["annotations"]["summary"] == summary.replace("its runs", "its accelerators")
    assert {name for name in standard if standard[name] != weighed[name]} == {
        "MusterGoodputBurnsFast",
        "MusterGoodputBurnsSlowly",
    }


def test_an_alert_can_be_changed_or_left_out_and_the_others_stay(rendered: Rendered) -> None:
    first, second, *others = ALERTS
    values = f"alerts.{first}.enabled=false,alerts.{second}.for=7m,alerts.{second}.severity=info"
    changed = rules(rendered(*ALL, "--set", values.replace("alerts.", "prometheusRule.alerts.")))
    standard = rules(rendered(*ALL))
    assert set(standard) - set(changed) == {first}
    assert (changed[second]["for"], changed[second]["labels"]["severity"]) == ("7m", "info")
    assert all(changed[name] == standard[name] for name in others)


def test_every_threshold_reaches_the_rule_of_its_alert(rendered: Rendered) -> None:
    common = {"enabled", "severity", "audience", "for", "labels"}
    own = [
        (alert, name, value) for alert, found in ALERTS.items() for name, value in found.items() if name not in common
    ]
    assert own
    values = {alert: {name: "77m" if isinstance(value, str) else 7777} for alert, name, value in own}
    standard = rules(rendered(*ALL))
    changed = rules(rendered(*ALL, "--set-json", f"prometheusRule.alerts={json.dumps(values)}"))
    assert {name for name in changed if changed[name]["expr"] != standard[name]["expr"]} == set(values)
    assert all("77" in changed[alert]["expr"] for alert in values)


def test_without_any_alert_the_recording_rules_stay(rendered: Rendered) -> None:
    values = json.dumps({name: {"enabled": False} for name in ALERTS})
    objects = rendered(*MONITORING, "--set-json", f"prometheusRule.alerts={values}")
    rule = one(objects, "PrometheusRule")
    assert rules(objects) == {}
    assert problems(rule) == []
    assert any("record" in each for group in rule["spec"]["groups"] for each in group.get("rules") or ())


def test_the_dashboards_are_those_of_deploy_grafana_with_the_label_of_the_sidecar(rendered: Rendered) -> None:
    objects = rendered(*MONITORING)
    maps = [each for each in objects if each["kind"] == "ConfigMap"]
    assert boards(objects) == {
        path.name: json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")
    }
    assert all(each["metadata"]["labels"]["grafana_dashboard"] == "1" for each in maps)
    assert all(each["metadata"]["annotations"] == {"grafana_folder": "Muster"} for each in maps)
    assert all(len(json.dumps(each)) < 1_000_000 for each in maps), "a ConfigMap holds 1 MiB at most"


def test_the_label_of_the_cluster_is_a_value_that_rules_and_dashboards_follow(rendered: Rendered) -> None:
    standard, other = rendered(*ALL), rendered(*ALL, "--set", "prometheusRule.clusterLabel=k8s")
    before, after = (json.dumps(one(objects, "PrometheusRule")["spec"]["groups"]) for objects in (standard, other))
    assert re.sub(r"(?<=labels\.)cluster\b|\bcluster\b(?=[,)}=]|=%q)", "k8s", before) == after
    assert boards(other) == {f"{board.name}.json": json.loads(text(board, "k8s")) for board in BOARDS}


def test_the_dashboard_of_one_experiment_has_the_links_of_the_values_behind_its_own(rendered: Rendered) -> None:
    address = "https://logs.example.org/search?pod=${experiment}-&namespace=${namespace}"
    values = json.dumps([{"title": "Logs", "url": address}, {"title": "Traces", "url": "/explore?${experiment}"}])
    found = boards(rendered(*MONITORING, "--set-json", f"dashboards.links={values}"))
    links = found["muster-experiment.json"]["links"]
    assert [(link["title"], link["url"]) for link in links[-2:]] == [
        ("Logs", address),
        ("Traces", "/explore?${experiment}"),
    ]
    links[-2:] = []
    assert found == {path.name: json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")}


def test_labels_of_owners_are_on_the_alerts_about_runs_as_without_the_chart(rendered: Rendered) -> None:
    found = rules(rendered(*ALL, "--set", r"settings.ownerLabels=example.com/cost-center=a|b\,team"))
    written = yaml.safe_load(plain(groups.GROUPS, ("label_example_com_cost_center", "label_team")))["groups"]
    expected = {rule["alert"]: rule["expr"] for group in written for rule in group["rules"] if "alert" in rule}
    assert {name: rule["expr"] for name, rule in found.items()} == expected


def test_a_cluster_of_the_list_is_missed_though_it_was_never_scraped(rendered: Rendered) -> None:
    expr = rules(rendered(*MONITORING, "--set", "prometheusRule.clusters={eu,us}"))["MusterDaemonDown"]["expr"]
    first, *_ = expr.splitlines()
    one_of, *others = first.split(" or ")
    assert one_of == 'absent(muster_build_info{job="musterd"})'
    assert others == [f'absent(muster_build_info{{job="musterd",cluster="{each}"}})' for each in ("eu", "us")]


def test_the_values_for_production_render(rendered: Rendered, tmp_path: Path) -> None:
    (shown,) = (each for each in blocks(ROOT / "docs/platform.md") if "production.yaml" in each.first)
    values = tmp_path / "production.yaml"
    values.write_text(shown.body, encoding="utf-8")
    objects = rendered(*MONITORING, "--values", str(values))
    assert not [problem for each in objects for problem in problems(each)]
    assert {"ServiceMonitor", "PrometheusRule", "Ingress", "NetworkPolicy"} <= {each["kind"] for each in objects}
    assert "--owner-labels=team" in arguments(objects)
