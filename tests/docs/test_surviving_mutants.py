"""Each surviving mutant of docs/surviving-mutants.md names a function that is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = re.findall(r"^\| `([\w/.]+)` `(\w+)` \|", (ROOT / "docs" / "surviving-mutants.md").read_text(), re.MULTILINE)


def test_the_page_has_rows() -> None:
    assert ROWS


@pytest.mark.parametrize(("file", "function"), ROWS)
def test_the_function_of_a_surviving_mutant_is_there(file: str, function: str) -> None:
    source = (ROOT / "muster" / "state" / file).read_text(encoding="utf-8")
    assert re.search(rf"^ *def {function}\(", source, re.MULTILINE)
