"""The pictures of the documentation show the dashboards as they are, and say what they are."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.deploy.grafana.answers import Answer
from tests.deploy.grafana.dashboards import ROOT, Dashboard, dashboards
from tests.deploy.grafana.pictures.__main__ import IMAGES, LABEL, drawn, files
from tests.deploy.grafana.server import Series

ALL = dashboards()
PAGE = (ROOT / "docs" / "dashboards.md").read_text(encoding="utf-8")
EACH = [(dashboard, file) for dashboard in ALL for _, file in files(dashboard)]

each_picture = pytest.mark.parametrize(("dashboard", "file"), EACH, ids=[file.stem for _, file in EACH])


def texts(svg: str) -> list[str]:
    return [node.text or "" for node in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def synthetic(dashboard: Dashboard, value: float) -> str:
    labels = {"phase": "Running", "reason": "RanksMissing", "namespace": "vision", "experiment": "a&b"}
    answers: dict[int, list[Answer]] = {query.number: [] for query in dashboard.queries}
    for query in dashboard.queries:
        points = [(10.0, value), (20.0, value), (40.0, value)] if query.over_time else [(40.0, value)]
        answers[query.number].append(Answer(query, {}, [Series(labels, points)]))
    return drawn(dashboard, answers, "Title", 0.0, 60.0)


@pytest.mark.parametrize("value", [0.0, 1.0, 20.0], ids=str)  # each is a state of the timeline
@pytest.mark.parametrize("dashboard", ALL, ids=lambda dashboard: dashboard.path.stem)
def test_every_panel_can_be_drawn(dashboard: Dashboard, value: float) -> None:
    assert len(texts(synthetic(dashboard, value))) > len(dashboard.panels)


@pytest.mark.parametrize("dashboard", ALL, ids=lambda dashboard: dashboard.path.stem)
def test_a_dashboard_without_data_can_be_drawn(dashboard: Dashboard) -> None:
    shown = texts(drawn(dashboard, {panel["id"]: [] for panel in dashboard.panels}, "Title", 0.0, 60.0))
    empty = {panel["fieldConfig"]["defaults"].get("noValue") for panel in dashboard.panels} - {None}
    assert empty
    assert empty <= {*shown}


@each_picture
def test_a_picture_says_that_it_is_no_screenshot(dashboard: Dashboard, file: Path) -> None:
    assert any(text.startswith(LABEL) for text in texts(file.read_text(encoding="utf-8")))
    assert f"images/{file.name}" in PAGE


@each_picture
def test_a_picture_has_the_panels_of_the_dashboard(dashboard: Dashboard, file: Path) -> None:
    shown = texts(file.read_text(encoding="utf-8"))
    titles = [panel["title"] for panel in dashboard.content["panels"]]
    missing = [title for title in titles if not any(_is(title, text) for text in shown)]
    assert not missing, "run: make pictures"


def _is(title: str, text: str) -> bool:
    """Whether a text is the title, or its beginning where the panel was too narrow."""
    return text == title or (text.endswith("...") and title.startswith(text.removesuffix("...")))


def test_no_picture_is_left_of_a_dashboard_that_is_gone() -> None:
    assert {path.name for path in IMAGES.glob("muster-*.svg")} == {file.name for _, file in EACH}
