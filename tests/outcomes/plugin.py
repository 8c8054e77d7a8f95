"""The plugin of pytest that writes what became of each test into a folder, as JSON lines.

``PYTEST_PLUGINS`` loads it, and ``MUSTER_OUTCOMES`` names the folder. Where pytest-xdist runs the tests, its main
process writes what the workers report. Both variables are removed, so that a pytest which a test starts writes nothing.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.outcomes.outcome import PLUGINS_VARIABLE, VARIABLE, why, without_group

PRESSURE = Path("/proc/pressure/cpu")


def pytest_configure(config: pytest.Config) -> None:
    """Begin a file of this process."""
    os.environ.pop(PLUGINS_VARIABLE, None)
    folder = os.environ.pop(VARIABLE, None)
    if folder is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Writer(Path(folder, f"{os.getpid()}.jsonl")), "muster-outcomes")


class Writer:
    """Appends a line for each report that counts, and one for the tests that were collected."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self._write(report, "passed" if hasattr(report, "wasxfail") else report.outcome, report.duration)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.outcome != "passed":
            self._write(report, report.outcome, 0.0)

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self._append({"collected": [without_group(each.nodeid) for each in items]})

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._append({"collected": [without_group(each.nodeid) for each in session.items]})

    def _write(self, report: pytest.TestReport | pytest.CollectReport, outcome: str, seconds: float) -> None:
        line = {"test": without_group(report.nodeid), "result": outcome, "seconds": seconds, "why": why(report)}
        self._append({**line, "pressure": pressure()})

    def _append(self, line: dict[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def pressure(path: Path = PRESSURE) -> float | None:
    """Per cent of the last 10 s in which some process waited for a processor; None where the kernel has no figure."""
    try:
        words = path.read_text(encoding="utf-8").split()
    except OSError:
        return None
    return float(words[1].partition("=")[2])
