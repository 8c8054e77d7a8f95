"""The pictures of README and docs/reading-the-roll-call.md are what their scripts draw, and say what is true."""

import importlib.util
import re
from types import ModuleType

import pytest

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


def test_every_picture_of_the_page_is_shown_and_there() -> None:
    page = (ROOT / "docs" / "reading-the-roll-call.md").read_text(encoding="utf-8")
    there = {path.relative_to(ROOT / "docs").as_posix() for path in IMAGES.rglob("*.png")}
    assert set(re.findall(r"!\[[^\]]+\]\(([^)]+\.png)\)", page)) == there
    assert all((ROOT / "docs" / path).read_bytes().startswith(b"\x89PNG") for path in there)


def test_the_outputs_on_the_page_are_those_that_were_recorded() -> None:
    script = script_of("roll_call")
    page = (ROOT / "docs" / "reading-the-roll-call.md").read_text(encoding="utf-8")
    assert page.count("<!-- recorded: ") == len(script.BLOCK.findall(page)) >= 4
    assert script.filled(page) == page
