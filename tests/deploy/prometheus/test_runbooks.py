"""Each alert has a runbook. That its commands exist is asked in tests/docs/test_commands_parse.py."""

import re
from pathlib import Path

import pytest

from deploy.prometheus.__main__ import STANDARD
from deploy.prometheus.groups import ALERTS
from deploy.prometheus.pages import RUN, SILENCED
from deploy.prometheus.text import plain
from deploy.prometheus.values import defaults
from muster.daemon.web.page.document import book
from muster.metrics.runbooks import PAGES as DECLARED
from muster.metrics.runbooks import PLACES, PUBLISHED, SERVED
from tests.deploy.prometheus.cases import CASES
from tests.deploy.prometheus.promtool import ROOT

PAGES = sorted(page for page in (ROOT / "docs" / "runbooks").glob("*.md") if page.stem != "README")
HEADING = re.compile(r"^## (Muster.*)$", re.MULTILINE)


def test_every_alert_is_declared_on_one_page_and_is_a_heading_of_it() -> None:
    declared = {page: list(alerts) for page, alerts in DECLARED.items()}
    assert sorted(alert for alerts in declared.values() for alert in alerts) == sorted(alert.name for alert in ALERTS)
    assert declared == {page.stem: HEADING.findall(page.read_text(encoding="utf-8")) for page in PAGES}
    assert len(declared) <= 12


def test_the_url_of_a_runbook_leads_to_a_heading_that_musterd_serves() -> None:
    assert PUBLISHED.endswith(SERVED)
    for alert in ALERTS:
        page, _, anchor = PLACES[alert.name].partition("#")
        assert (book(page) or "").count(f'<h2 id="{anchor}">{alert.name}</h2>') == 1


def test_the_rules_lead_to_the_runbooks_at_the_address_that_is_asked_for() -> None:
    there = "https://muster.example.com/runbooks"
    urls = re.findall(r"runbook_url: (.*)", plain(STANDARD, (), there))
    assert urls == [url.replace(PUBLISHED, there) for url in re.findall(r"runbook_url: (.*)", plain(STANDARD))]
    assert urls[0] == f"{there}/shared-causes.md#musterincident"


@pytest.mark.parametrize("alert", [alert.name for alert in ALERTS])
def test_the_labels_by_which_an_alert_is_silenced_are_those_that_it_carries(alert: str) -> None:
    carried = {label for case in CASES if case.alert == alert for label in case.labels}
    assert set(SILENCED.get(alert, RUN)) <= carried


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_chart_values_that_a_runbook_names_exist(page: Path) -> None:
    for path in re.findall(r"`prometheusRule\.([A-Za-z.]+)`", page.read_text(encoding="utf-8")):
        node = defaults()
        for part in path.split("."):
            node = node[part]
