"""Every architecture decision has a number of its own, and every reference to it gives that number."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
RECORDS = sorted((DOCS / "adr").glob("*.md"))
CODE = re.compile(r"^Code: .*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"`([\w./-]+/[\w./-]*)`")
LINK = re.compile(r"\[ADR (\d+)\]\((?:adr/)?(\d{4})-")

pytestmark = pytest.mark.drift


def test_every_decision_has_a_number_of_its_own() -> None:
    assert [record.name[:4] for record in RECORDS] == [f"{number:04}" for number in range(1, len(RECORDS) + 1)]


def test_the_title_of_a_decision_gives_the_number_of_its_file() -> None:
    wrong = [record.name for record in RECORDS if not record.read_text().startswith(f"# {int(record.name[:4])}. ")]
    assert wrong == []


def test_a_link_to_a_decision_gives_the_number_of_its_file() -> None:
    links = [(page.name, *link) for page in DOCS.rglob("*.md") for link in LINK.findall(page.read_text())]
    assert len(links) >= 10
    assert [link for link in links if int(link[1]) != int(link[2])] == []


def test_what_a_decision_names_as_its_code_exists() -> None:
    named = [
        (record.name, path)
        for record in RECORDS
        for code in CODE.findall(record.read_text())
        for path in NAMED.findall(code)
    ]
    assert len(named) >= 100
    assert [(record, path) for record, path in named if not (DOCS.parent / path).exists()] == []
