"""The failure model names tests, scenarios and families: each of them exists."""

import re
from pathlib import Path

import pytest

from tests.simulation.plans.families import FAMILIES
from tests.simulation.scenarios.catalogue import scenarios

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "failure-model.md").read_text()

pytestmark = pytest.mark.drift


def test_every_test_it_names_exists() -> None:
    file, named = "", 0
    for path, test in re.findall(r"`([\w/.]*)::(\w+)`", PAGE):
        file = path or file
        assert re.search(rf"^(async )?def {test}\(", (TESTS / file).read_text(), re.MULTILINE), f"{file}::{test}"
        named += 1
    assert named >= 20


def test_every_plan_it_names_exists_and_none_is_left_out() -> None:
    rows = [line for line in PAGE.splitlines() if "plans " in line]
    words = {word for line in rows for word in re.findall(r"`([a-z]+(?:-[a-z]+)*)`", line)}
    assert set(FAMILIES) - {"clean"} <= words
    assert {word for word in words if word in scenarios()} >= {
        "member-fails", "coordinator-fails", "node-lost", "preempted", "survivors-hang"}  # fmt: skip


def test_each_line_of_its_tables_names_what_shows_it() -> None:
    lines = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith(("| what fails", "| guar"))]
    assert len(lines) >= 20
    for line in lines:
        assert "::" in line or "plans" in line, line
