"""Every decision has one number and one place, a page is short, references give its number, and named files exist."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
INDEX = DOCS / "adr" / "README.md"
RECORDS = sorted((DOCS / "adr").glob("[0-9]*.md"))
SOURCES = sorted(file for folder in ("muster", "deploy", "tools") for file in (DOCS.parent / folder).rglob("*.py"))
NAMED = re.compile(r"`((?:muster|tests|benchmarks|deploy|tools|docs|examples|\.ci)/[^`\s]*)`")
LINK = re.compile(r"\[(?:ADR )?(\d+)\]\((?:\.\./)?(?:adr/)?(\d{4})-")
LINE = re.compile(r"^- (\d+): \S.*$", re.MULTILINE)
WORDS = 250
"""Words of a page at most."""

pytestmark = pytest.mark.drift


def test_every_decision_has_a_page_or_a_line_and_no_number_is_left_out_or_used_twice() -> None:
    pages = [int(record.name[:4]) for record in RECORDS]
    lines = [int(number) for number in LINE.findall(INDEX.read_text(encoding="utf-8"))]
    assert sorted([*pages, *lines]) == list(range(1, len(pages) + len(lines) + 1))


def test_a_page_is_in_the_index_and_short() -> None:
    index = INDEX.read_text(encoding="utf-8")
    assert [record.name for record in RECORDS if f"[{int(record.name[:4])}]({record.name})" not in index] == []
    assert [record.name for record in RECORDS if len(record.read_text(encoding="utf-8").split()) > WORDS] == []


def test_a_link_to_a_decision_gives_the_number_of_its_file() -> None:
    links = [(page.name, *link) for page in DOCS.rglob("*.md") for link in LINK.findall(page.read_text())]
    assert len(links) >= 10
    assert [link for link in links if int(link[1]) != int(link[2])] == []


@pytest.mark.parametrize(("texts", "least"), [(RECORDS, 20), (SOURCES, 3)], ids=["decisions", "sources"])
def test_a_path_that_a_decision_or_a_source_names_exists(texts: list[Path], least: int) -> None:
    """What is gone is named without backticks, as history."""
    named = [(text.name, path) for text in texts for path in NAMED.findall(text.read_text(encoding="utf-8"))]
    assert len(named) >= least
    assert [(text, path) for text, path in named if not (DOCS.parent / path).exists()] == []
