"""The rows of the rules: thresholds, reasons, and the files that are written from them."""

import re

import pytest
import yaml

from deploy.prometheus import reasons
from deploy.prometheus.__main__ import GENERATED, ROOT
from deploy.prometheus.clusters import kept
from deploy.prometheus.groups import ALERTS, GROUPS
from deploy.prometheus.row import GIVEN, PLACEHOLDER, Alert
from deploy.prometheus.text import chart, plain
from deploy.prometheus.values import defaults
from muster.state.vocabulary.rules import CLOCKS
from tools.reasons.rows import STUCK

CLOCKED = {clock.reason for clock in CLOCKS}
PER_ALERT = pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)


@pytest.mark.drift
@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_file_is_what_the_rows_say(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == GENERATED[name](), "run `python -m deploy.prometheus`"


@PER_ALERT
def test_every_threshold_is_used_and_every_placeholder_is_a_threshold(alert: Alert) -> None:
    named = set(PLACEHOLDER.findall(f"{alert.expr} {alert.summary} {alert.description}"))
    assert named - set(GIVEN) == {threshold.name for threshold in alert.thresholds}


@PER_ALERT
def test_the_summary_of_an_alert_about_an_experiment_names_it(alert: Alert) -> None:
    about_one = "muster_experiment_" in alert.expr or "experiment:" in alert.expr
    assert about_one == alert.summary.startswith("{{ $labels.namespace }}/{{ $labels.experiment }}: ")
    assert alert.summary.endswith((".", ")."))


@PER_ALERT
def test_a_reason_that_an_alert_is_about_is_in_its_summary(alert: Alert) -> None:
    found, *more = alert.expr.split("\nor\n")
    aggregated = "max by (namespace, experiment, reason, audience)"
    by_reason = aggregated in found and all(aggregated in each or "ALERTS" in each for each in more)
    assert by_reason == ("{{ $labels.reason }}" in alert.summary)


def test_a_reason_of_stuck_belongs_to_one_alert() -> None:
    assert len(set(reasons.CLAIMED)) == len(reasons.CLAIMED)


@pytest.mark.parametrize("reason", sorted({reason for row in STUCK for reason in row.reasons} | CLOCKED))
def test_a_reason_that_the_page_explains_or_a_clock_has_reaches_one_alert(reason: str) -> None:
    fires = [(alert.name, alert.expr.partition("unless")[0]) for alert in ALERTS]
    matchers = [(name, found) for name, expr in fires for found in re.findall(r'reason(=~|!~)"([^"]*)"', expr)]
    assert len({name for name, (how, pattern) in matchers if bool(re.fullmatch(pattern, reason)) == (how == "=~")}) == 1


@PER_ALERT
def test_the_chart_reads_a_value_for_everything_that_can_be_set(alert: Alert) -> None:
    text = chart(GROUPS).partition(f"$values.alerts.{alert.name} ")[2].partition("{{- with $values.alerts")[0]
    read = set(re.findall(r"\{\{-? (?:if |with )?\.([a-z]+) \}\}", text))
    assert read == set(defaults()["alerts"][alert.name])


def test_templates_of_prometheus_are_quoted_for_helm() -> None:
    unquoted = re.sub(r"\{\{`.*?`\}\}", "", chart(GROUPS))
    assert "$labels" not in unquoted
    assert "`}}" not in plain(GROUPS)


def test_every_rule_keeps_the_labels_of_the_cluster_and_of_the_shard() -> None:
    """In its aggregations, its joins, and the queries of its summary; another label takes the place of the default."""
    aggregated = r"\b(?:sum|min|max|avg|count|group|topk|bottomk|quantile)(?: by \(([^)]*)\))? \("
    for rule in (rule for group in yaml.safe_load(plain(GROUPS))["groups"] for rule in group["rules"]):
        lists = [*re.findall(aggregated, rule["expr"]), *re.findall(r"\bon \(([^)]*)\)", rule["expr"])]
        assert all({"cluster", "shard"} <= set(listed.split(", ")) for listed in lists), rule["expr"]
        assert lists or "absent" in rule["expr"] or not re.search(r"\b(by|on)\b", rule["expr"])
        for query in re.findall(r"\{namespace=%q|\{cluster=%q,[a-z]+=%q", str(rule.get("annotations", ""))):
            assert query.startswith("{cluster=%q,shard=%q")


@pytest.mark.parametrize("expr", ["sum without (instance) (x)", "a and ignoring (job) b"])
def test_an_expression_that_hides_which_labels_it_keeps_is_refused(expr: str) -> None:
    with pytest.raises(ValueError, match="the label cluster is kept"):
        kept(expr, "cluster")


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ("sum(a)", "sum by (cluster, shard) (a)"),
        ("max by (job) (a) == 0", "max by (cluster, shard, job) (a) == 0"),
        ("a and on () b", "a and on (cluster, shard) b"),
        ("experiment:muster_failures:max > 3", "experiment:muster_failures:max > 3"),
    ],
)
def test_cluster_and_shard_are_written_into_lists_and_bare_aggregations(expr: str, expected: str) -> None:
    assert kept(expr, "cluster") == expected
