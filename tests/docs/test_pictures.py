"""The pictures of README and docs/reading-the-roll-call.md are what their scripts draw, and say what is true."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from deploy.prometheus.groups import ALERTS
from tests.docs.commands import ROOT

IMAGES = ROOT / "docs" / "images"

pytestmark = pytest.mark.drift


def script_of(name: str) -> ModuleType:
    """A script of docs/images, which is no package."""
    spec = importlib.util.spec_from_file_location(name, IMAGES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_overview_is_what_its_script_draws() -> None:
    drawn: str = script_of("overview").picture()
    assert drawn == (IMAGES / "overview.svg").read_text(encoding="utf-8"), "run: python docs/images/overview.py"


def test_the_overview_counts_the_alerts_and_dashboards_that_there_are() -> None:
    drawn = (IMAGES / "overview.svg").read_text(encoding="utf-8")
    assert f"{len(ALERTS)} alerts" in drawn
    assert f"{len(list(Path(ROOT, 'deploy/grafana/json').glob('*.json')))} dashboards" in drawn


@pytest.mark.parametrize("name", ["page", "page-of-one"])
def test_a_picture_of_the_page_has_the_words_that_the_page_had(name: str) -> None:
    recorded = IMAGES / "roll-call" / name
    drawn: str = script_of("roll_call").picture(recorded.with_suffix(".html").read_text(encoding="utf-8"))
    assert drawn == recorded.with_suffix(".svg").read_text(encoding="utf-8")
    assert "stuck: RanksMissing" in drawn


def test_the_outputs_on_the_page_are_those_that_were_recorded() -> None:
    script = script_of("roll_call")
    page = (ROOT / "docs" / "reading-the-roll-call.md").read_text(encoding="utf-8")
    assert page.count("<!-- recorded: ") == len(script.BLOCK.findall(page)) >= 6
    assert script.filled(page) == page
