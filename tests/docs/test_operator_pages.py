"""docs/operators: the variables and examples of each page are those of the code."""

import re
from pathlib import Path

import pytest

from muster.api.manifest.operators import injected_env, operators
from tests.examples.table import BY_NAME

DOCS = Path(__file__).parents[2] / "docs"
PAGES = tuple(operators())
EXAMPLE_OF = {"kuberay": "ray"}
OTHER_NAMES = {"MUSTER_POD_IP"}
"""Variables of every operator that a page may explain, too."""


def section(operator: str, title: str) -> str:
    page = (DOCS / "operators" / f"{operator}.md").read_text(encoding="utf-8")
    return page.split(f"## {title}\n")[1].split("\n## ")[0]


def rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line[:1] == "|"]


@pytest.mark.parametrize("operator", PAGES)
def test_the_variables_of_a_page_are_those_that_are_set(operator: str) -> None:
    named = {name for row in rows(section(operator, "Environment")) for name in re.findall(r"`([A-Z_]+)`", row[0])}
    assert named - OTHER_NAMES == injected_env(operator)


@pytest.mark.parametrize("operator", PAGES)
def test_a_page_leads_to_the_example_that_is_run(operator: str) -> None:
    folder = BY_NAME[EXAMPLE_OF.get(operator, operator)].path.parent.name
    assert f"[examples/{folder}](../../examples/{folder}" in section(operator, "Example")
