"""Rules and runbooks speak only of metrics, labels and label values that musterd exports; each alert has its cases."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.prometheus.groups import ALERTS, GROUPS
from deploy.prometheus.row import Alert, Recording
from muster.metrics.catalogue import CATALOGUE
from muster.metrics.rows import experiment
from muster.metrics.rows.row import Lean, Type
from muster.state.vocabulary.record import Phase
from muster.state.vocabulary.rules import ClockAction, ClockName
from tests.deploy.prometheus.case import Case
from tests.deploy.prometheus.cases import CASES
from tests.deploy.prometheus.promtool import ROOT

METRIC = re.compile(r"\b(?:muster_[a-z0-9_]+|(?:experiment|namespace|operator):[a-z_]+:[a-z0-9_]+)\b")
SELECTOR = re.compile(r"(muster_[a-z0-9_]+)\{([^}]*)\}")
MATCHER = re.compile(r'(@?[a-z_]+)(?:=~|!~|!=|=)(?:"([^"]*)"|%q)')

OF_THE_SCRAPE = {"cluster", "@cluster", "job", "instance", "namespace", "shard", "prometheus_replica"}
"""Labels that the scrape adds."""
CLOSED = {
    "phase": {phase.value for phase in Phase},
    "clock": {clock.value for clock in ClockName},
    "action": {action.value for action in ClockAction},
}

RECORDED = {rule.name for group in GROUPS for rule in group.rules if isinstance(rule, Recording)}
RULES = [rule for group in GROUPS for rule in group.rules]


def exported() -> Iterator[tuple[str, set[str]]]:
    """What a query can name, and the labels it has."""
    yield "up", set()  # Prometheus' own, of each scrape
    for row in CATALOGUE:
        if row.type is not Type.HISTOGRAM:
            yield row.name, set(row.labels)
            continue
        yield from ((f"{row.name}{suffix}", {*row.labels, "le"}) for suffix in ("_bucket", "_sum", "_count"))


LABELS = dict(exported())


def texts(rule: Alert | Recording) -> str:
    """Everything of a rule that may hold a query."""
    return f"{rule.expr} {rule.summary}" if isinstance(rule, Alert) else rule.expr


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_names_metrics_that_are_exported_or_recorded(rule: Alert | Recording) -> None:
    for weight in ("", "_accelerators"):
        unknown = set(METRIC.findall(texts(rule).replace("@{weight}", weight))) - set(LABELS) - RECORDED
        assert unknown == set()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_reads_of_single_runs_only_what_those_of_a_large_fleet_have(rule: Alert | Recording) -> None:
    missing = {row.name for row in experiment.ROWS if row.lean is Lean.NEVER}
    assert set(METRIC.findall(texts(rule))) & missing == set(), "mark the row as lean, or read another one"


def test_what_is_marked_as_lean_is_read_by_a_rule() -> None:
    """Each costs a fleet of 5,000 runs up to 5,000 series."""
    read = {name for rule in RULES for name in METRIC.findall(texts(rule))}
    marked = {row.name for row in experiment.ROWS if row.lean is not Lean.NEVER}
    assert marked - read == {experiment.ACCELERATORS.name}, "muster usage --by owner reads that one"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_selects_by_labels_and_values_that_the_metric_has(rule: Alert | Recording) -> None:
    for metric, matchers in SELECTOR.findall(texts(rule)):
        for label, value in MATCHER.findall(matchers):
            assert label in LABELS[metric] | OF_THE_SCRAPE, f"{metric} has no label {label}"
            assert label not in CLOSED or value in CLOSED[label], f"{label} is never {value}"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_groups_by_labels_that_its_metrics_have(rule: Alert | Recording) -> None:
    for labels, metric in re.findall(r"by \(([^)]*)\) \((?:\w+\()*(muster_[a-z0-9_]+)", rule.expr):
        assert set(filter(None, labels.split(", "))) <= LABELS[metric] | OF_THE_SCRAPE


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "runbooks").glob("*.md")), ids=lambda page: page.stem)
def test_a_runbook_names_metrics_that_exist(page: Path) -> None:
    unknown = set(METRIC.findall(page.read_text(encoding="utf-8"))) - set(LABELS)
    assert unknown - RECORDED == set()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.alert}: {case.situation}")
def test_a_case_scrapes_what_musterd_exports(case: Case) -> None:
    for series in case.inputs():
        metric, _, matchers = series.removesuffix("}").partition("{")
        assert {label for label, _ in MATCHER.findall(matchers)} - OF_THE_SCRAPE <= LABELS[metric]


def test_an_alert_has_a_case_that_fires_it_and_one_that_does_not() -> None:
    found = {(case.alert, case.fires_after is not None) for case in CASES}
    assert found == {(alert.name, fires) for alert in ALERTS for fires in (True, False)}
