"""A module, a test or a function that a docstring, a comment or a page names is there."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from muster.daemon.web.fleet import Filters
from tests.docs.pages import ROOT, absent
from tests.mutant_floor import EXPLAINED

ROOMS = sorted(each.name for each in (ROOT / "muster").iterdir() if (each / "__init__.py").is_file())
MODULE = re.compile(rf"`(?:muster\.)?((?:{'|'.join(ROOMS)})(?:\.[a-z_]+)+)`")
OTHERS = ("jax.distributed", "torch.distributed", "daemon.json")
"""What begins like a room, and is of another package or a file."""
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "tests" / "failures.md"]
TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
PANEL = re.compile(r"(?<!\*)\*([A-Z][^*]+)\*(?!\*)")
OF_GRAFANA = "Scrape interval"
"""What the page of dashboards names beside titles of Muster's own."""

pytestmark = pytest.mark.drift


def is_there(name: str) -> bool:
    """Whether the name is that of a module or package below ``muster``, or of something that one of them has."""
    at = ROOT.joinpath("muster", *name.split("."))
    module = at.parent.with_suffix(".py") if at.parent.with_suffix(".py").is_file() else at.parent / "__init__.py"
    return at.is_dir() or at.with_suffix(".py").is_file() or at.name in names_of(module)


def names_of(module: Path) -> set[str]:
    """The words of a module that can be names; empty for one that is not there."""
    return set(re.findall(r"\w+", module.read_text(encoding="utf-8"))) if module.is_file() else set()


def test_a_module_that_is_named_is_there() -> None:
    sources = [*(ROOT / "muster").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    pages = [each for each in (ROOT / "docs").rglob("*.md") if each.parent.name != "adr"]
    names = [
        (str(each.relative_to(ROOT)), name)
        for each in (*sources, *pages)
        for name in MODULE.findall(each.read_text(encoding="utf-8"))
        if not (name.startswith(OTHERS) or name.endswith(".py"))
    ]
    assert len(names) >= 10
    assert [each for each in names if not is_there(each[1])] == []


def test_the_tests_and_functions_that_pages_name_are_there() -> None:
    named = [found for page in PAGES for found in TEST.findall(page.read_text(encoding="utf-8"))]
    assert named
    proofs = {*named, *((f"muster/state/{path}", name) for path, name, *_ in EXPLAINED)}
    assert sorted(each for each in proofs if absent(*each)) == []


def titles(value: Any) -> Iterator[str]:
    """Yield every title of a dashboard, of its rows and panels."""
    if isinstance(value, dict):
        yield from (str(each) for name, each in value.items() if name == "title")
        yield from (title for each in value.values() for title in titles(each))
    elif isinstance(value, list):
        yield from (title for each in value for title in titles(each))


def test_the_panels_that_the_page_of_dashboards_names_exist() -> None:
    page = (ROOT / "docs/dashboards.md").read_text(encoding="utf-8")
    named = {" ".join(each.split()) for each in PANEL.findall(page)}
    boards = [json.loads(each.read_text(encoding="utf-8")) for each in (ROOT / "deploy/grafana/json").glob("*.json")]
    assert len(named) >= 4
    assert named - {title.partition(":")[0] for title in titles(boards)} == {OF_GRAFANA}


def test_the_filters_of_the_page_that_documents_name_exist() -> None:
    pages = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    linked = {name for query in re.findall(r"`/\?([^`]+)`", pages) for name in parse_qs(query)}
    listed = re.search(r"the filters of the page \(([^)]*)\)", pages)
    assert linked
    assert listed is not None
    assert linked | set(re.findall(r"`(\w+)`", listed[1])) == set(Filters.__slots__)
