"""All tests, scenarios and families that the report of failures names exist; every actor is asked every question."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import absent
from tests.scenarios.catalogue import scenarios
from tests.simulation.coverage import EXPERIMENTS, GLOBAL, NO_RESTART, QUESTIONS, actors, empty
from tests.simulation.plans.families import FAMILIES

TESTS = Path(__file__).parents[1]
PAGE = (TESTS / "failures.md").read_text()

OUTSIDE = {"watched run", "code of `spec.assist` in a program", "server of a debug mode"}
"""Who acts in clusters and not in the simulation."""

pytestmark = pytest.mark.drift


def test_every_named_test_exists() -> None:
    file, named = "", 0
    for path, test in re.findall(r"`([\w/.]*)::(\w+)`", PAGE):
        file = path or file
        assert not absent(f"tests/{file}", test), f"{file}::{test}"
        named += 1
    assert named >= 20
    whole = set(re.findall(r"`([\w/]+\.py)`", PAGE))
    assert all((TESTS / each).exists() or (TESTS.parent / each).exists() for each in whole)


def test_every_named_plan_exists_and_every_family_is_named() -> None:
    rows = [line for line in PAGE.splitlines() if "plans " in line]
    words = {word for line in rows for word in re.findall(r"`([a-z]+(?:-[a-z]+)*)`", line)}
    assert words - {*scenarios(), *FAMILIES} == {"jobset-sequential"}, "an operator"
    assert {word for word in words if word in scenarios()} >= {
        "member-fails", "coordinator-fails", "node-lost", "preempted", "survivors-hang"}  # fmt: skip


def test_every_line_of_its_tables_names_its_proof() -> None:
    heads = ("| what fails", "| guar", "| reason", "| actor")
    lines = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith(heads)]
    assert len(lines) >= 20
    for line in lines:
        assert "::" in line or "plans" in line, line


def test_that_table_has_every_scenario_and_family_and_only_oracles_that_exist() -> None:
    named = {plan for plans in actors().values() for plan in plans}
    assert named == {*scenarios(), *FAMILIES}
    assert all((TESTS / "simulation" / "oracles" / f"{oracle}.py").exists() for oracle in QUESTIONS.values())
    assert {empty(plans, question) for plans in actors().values() for question in QUESTIONS} == {
        "", NO_RESTART, EXPERIMENTS, GLOBAL}  # fmt: skip


def test_every_cell_about_an_actor_outside_the_simulation_names_a_test_or_says_why_none() -> None:
    part = PAGE.partition("## Actors outside the simulated world")[2].partition("\n## ")[0]
    heading, _, *rows = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("|")]
    assert {row[0].partition(":")[0] for row in rows} == OUTSIDE
    for row in rows:
        assert len(row) == len(heading)
        assert all("::" in cell or cell == "those of any gang" for cell in row[1:]), row[0]
