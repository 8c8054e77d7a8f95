"""Each alert fires when it must, with its texts, and not when it must not. Prints how long each takes."""

from dataclasses import replace
from pathlib import Path

import pytest

from deploy.prometheus.groups import ALERTS
from tests.deploy.prometheus import promtool
from tests.deploy.prometheus.case import BEGINS, Case
from tests.deploy.prometheus.cases import CASES

pytestmark = pytest.mark.slow

NAMES = [alert.name for alert in ALERTS]


@pytest.mark.parametrize("name", NAMES)
def test_an_alert_fires_when_it_must_and_not_when_it_must_not(name: str, tmp_path: Path) -> None:
    assert promtool.run([case for case in CASES if case.alert == name], tmp_path) == ""


@pytest.mark.parametrize("name", [each.name for each in ALERTS if "muster_experiment_" in each.expr])
def test_an_alert_needs_no_other_zeros_of_runs_than_those_that_are_marked(name: str, tmp_path: Path) -> None:
    cases = [replace(case, lean=True) for case in CASES if case.alert == name]
    assert promtool.run(cases, tmp_path) == ""


def test_nothing_fires_while_all_is_well(tmp_path: Path) -> None:
    assert promtool.run([Case(NAMES[0], "all is well", {})], tmp_path) == ""


def test_an_alert_that_fires_where_it_must_not_fails_a_case(tmp_path: Path) -> None:
    series = {'muster_rights_missing{job="musterd",verb="get",resource="pods"}': BEGINS}
    assert "FAILED" in promtool.run([Case("MusterRightsMissing", "fires", series)], tmp_path)


@pytest.mark.parametrize("file", [promtool.RULES, promtool.SLO_RULES], ids=lambda file: file.name)
def test_a_rule_file_is_valid(file: Path) -> None:
    assert promtool.check(file) == ""
