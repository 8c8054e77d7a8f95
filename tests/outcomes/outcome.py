"""Outcomes of tests, and how they are read from the folder that the plugin writes into."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

VARIABLE = "MUSTER_OUTCOMES"
"""The environment variable that names the folder."""
PLUGINS_VARIABLE = "PYTEST_PLUGINS"
PLUGIN = "tests.outcomes.plugin"
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
WORST = (PASSED, SKIPPED, FAILED)
WHY_LINES = 30
"""Of a failure."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a test."""

    test: str
    result: str
    """``passed``, ``failed`` or ``skipped``."""
    seconds: float = 0.0
    why: str = ""
    """Of a failure the lines that say what failed and where; of a skip its reason."""
    pressure: float | None = None
    """Per cent of 10 s in which some process waited for a processor, when it ended; None: not known."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What became of the tests of a run, each by its worst report."""

    tests: Mapping[str, Outcome]
    collected: frozenset[str] = frozenset()
    """By a process that plays tests itself, also those that it deselects or does not reach."""

    def of(self, result: str) -> list[Outcome]:
        """Those with that result."""
        return [each for each in self.tests.values() if each.result == result]

    @property
    def all(self) -> frozenset[str]:
        """The tests that were collected, and those that workers played."""
        return self.collected | self.tests.keys()

    @property
    def unplayed(self) -> list[str]:
        """The tests that were deselected everywhere, not reached, or skipped."""
        played = {name for name, each in self.tests.items() if each.result != SKIPPED}
        return sorted(self.all - played)


def environment(folder: Path) -> dict[str, str]:
    """The environment of a pytest that writes its outcomes into the folder."""
    return {**os.environ, PLUGINS_VARIABLE: PLUGIN, VARIABLE: str(folder)}


def read(folder: Path) -> Outcomes:
    """The outcomes of all runs that wrote into the folder, or into one inside it."""
    found: dict[str, Outcome] = {}
    collected: set[str] = set()
    for file in sorted(folder.rglob("*.jsonl")):
        for line in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            collected.update(line.pop("collected", ()))
            if line:
                outcome = Outcome(**line)
                former = found.get(outcome.test)
                if former is None or WORST.index(former.result) < WORST.index(outcome.result):
                    found[outcome.test] = outcome
    return Outcomes(found, frozenset(collected))


def without_group(nodeid: str) -> str:
    """The id by which pytest finds the test: pytest-xdist appends the name of an ``xdist_group``."""
    return re.sub(r"@[^\]@:/]+$", "", nodeid)


def why(report: pytest.TestReport | pytest.CollectReport) -> str:
    """The lines in which pytest says what failed, and where, or why it skipped; empty if it passed."""
    if report.outcome == SKIPPED and isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    if report.outcome != FAILED:
        return ""
    lines = report.longreprtext.splitlines()
    return "\n".join([*[line for line in lines if line.startswith("E ")][:WHY_LINES], *lines[-1:]])
