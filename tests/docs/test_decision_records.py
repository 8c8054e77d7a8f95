"""Every architecture decision has a number of its own, and every reference to it gives that number."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
RECORDS = sorted((DOCS / "adr").glob("*.md"))
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
