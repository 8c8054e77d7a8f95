"""What pages name as their proof is there: tests, and functions with surviving mutants."""

import re

import pytest

from tests.docs.commands import ROOT
from tests.mutant_floor import EXPLAINED

PAGES = [path for path in sorted((ROOT / "docs").glob("*.md")) if "`tests/" in path.read_text(encoding="utf-8")]
TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def absent(path: str, name: str) -> bool:
    """The file is not there, or has no such function."""
    file = ROOT / path
    if not file.is_file():
        return True
    return name != "" and not re.search(rf"^ *(async )?def {name}\(", file.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.drift
def test_the_tests_and_functions_that_pages_name_are_there() -> None:
    named = [found for page in PAGES for found in TEST.findall(page.read_text(encoding="utf-8"))]
    assert named
    proofs = {*named, *((f"muster/state/{path}", name) for path, name, *_ in EXPLAINED)}
    assert sorted(each for each in proofs if absent(*each)) == []
