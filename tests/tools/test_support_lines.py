"""Tests, and what they stand on (worlds, stand-ins, tables and tools), do not grow unseen."""

from collections import Counter
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
MOST = 37_236
"""Lines of Python in all that is no test file. Lower it when they become fewer; raise it for a new world."""
MOST_OF_ALL, GOAL = 120_464, 92_000
"""The same of all tests, and what they should come to."""


def lines() -> tuple[Counter[str], int]:
    """The lines of support by folder of ``tests``, and those of all tests."""
    support, whole = Counter[str](), 0
    for file in TESTS.rglob("*.py"):
        count = len(file.read_text(encoding="utf-8").splitlines())
        whole += count
        if not file.name.startswith("test_"):
            support[file.relative_to(TESTS).parts[0]] += count
    return support, whole


@pytest.mark.drift
def test_the_lines_of_tests_and_of_their_support_do_not_grow() -> None:
    support, whole = lines()
    table = "\n".join(f"{count:6} {folder}" for folder, count in support.most_common())
    print(f"{whole} lines of tests, {MOST_OF_ALL} at most, goal {GOAL}; of support:\n{table}")
    # with `pytest -s`; pytest shows it of a failure
    assert support.total() <= MOST, f"{support.total()} lines of support, {MOST} at most"
    assert whole <= MOST_OF_ALL, f"{whole} lines of tests, {MOST_OF_ALL} at most"
