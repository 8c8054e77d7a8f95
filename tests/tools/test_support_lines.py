"""What tests stand on does not grow unseen: worlds, stand-ins, tables and tools, all code that is no test file."""

from collections import Counter
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
MOST = 37_546
"""Lines of Python in all of them. Lower it when they become fewer; raise it where a new world is worth its lines."""


def support_lines() -> Counter[str]:
    """The lines by folder of ``tests``."""
    found = Counter[str]()
    for file in TESTS.rglob("*.py"):
        if not file.name.startswith("test_"):
            found[file.relative_to(TESTS).parts[0]] += len(file.read_text(encoding="utf-8").splitlines())
    return found


@pytest.mark.drift
def test_the_lines_of_support_do_not_grow() -> None:
    found = support_lines()
    table = "\n".join(f"{lines:6} {folder}" for folder, lines in found.most_common())
    print(table)  # with `pytest -s`; pytest shows it of a failure
    assert found.total() <= MOST, f"{found.total()} lines of support, {MOST} at most, by folder:\n{table}"
