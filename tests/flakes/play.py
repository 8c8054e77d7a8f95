"""Play tests with real processes: all of them, and once more, alone, those that failed.

What passes then is recorded as a flake. Where ``MUSTER_FLAKES_ONCE`` is set, nothing is played again, and the
quarantine does not hold: so the nightly sees every failure. pytest's root is the folder that it runs in, so that the id
of a test is what pytest finds it by.
"""

import os
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.flakes import quarantine, record
from tests.flakes.verdict import MOST_FLAKES, Verdict, again, judge
from tests.outcomes.outcome import FAILED, PASSED, VARIABLE, Outcome, Outcomes, read

ONCE_VARIABLE = "MUSTER_FLAKES_ONCE"
ALONE = ("-p", "no:cacheprovider", "-n", "0")
ALL_PASSED, SOME_FAILED, NOTHING_COLLECTED = 0, 1, 5
"""Exit statuses of pytest."""

Pytest = Callable[[Sequence[str], Path], int]
"""Run pytest with arguments and let it write its outcomes into the folder; its exit status."""


@dataclass(frozen=True, slots=True)
class Played:
    """A run, when what failed has been played again."""

    verdict: Verdict
    outcomes: Outcomes
    """Of the first time."""
    unable: bool
    """pytest could not run the tests, or failed without naming one."""

    @property
    def well(self) -> bool:
        """Tests were played, and nothing blocks."""
        return bool(self.outcomes.tests) and not self.unable and self.verdict.well


def play(kind: str, pytest: Pytest, parts: Sequence[Sequence[str]], say: Callable[[str], None]) -> Played:
    """Run pytest with the arguments of each part, then what failed; print and record the flakes."""
    once = bool(os.environ.get(ONCE_VARIABLE))
    quarantined = frozenset() if once else frozenset(each.id for each in quarantine.load())
    with _folder() as folder:
        statuses = {pytest(part, folder) for part in parts} - {ALL_PASSED, NOTHING_COLLECTED}
        outcomes = read(folder)
    failed = outcomes.of(FAILED)
    unable = bool(statuses - {SOME_FAILED}) or (bool(statuses) and not failed)
    passed = set() if unable or once else _again(pytest, again(failed, quarantined), say)
    verdict = judge(failed, passed, quarantined)
    _tell(verdict, say)
    if not once:
        _record(kind, outcomes, verdict.flaky, say)
    return Played(verdict, outcomes, unable)


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder for outcomes: a new one in that of the run that this is a part of, where there is one."""
    if whole := os.environ.get(VARIABLE):
        yield Path(tempfile.mkdtemp(dir=whole))
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)


def _again(pytest: Pytest, tests: Collection[str], say: Callable[[str], None]) -> set[str]:
    """Those of the tests that pass when they are played alone."""
    if not tests:
        return set()
    say("those that failed, again and alone:")
    with tempfile.TemporaryDirectory() as folder:
        pytest((*ALONE, *tests), Path(folder))
        return {each.test for each in read(Path(folder)).of(PASSED)}


def _tell(verdict: Verdict, say: Callable[[str], None]) -> None:
    """Print what failed at first and does not hold the run back, and why a run is held back by flakes."""
    for rows, title in ((verdict.quarantined, "in quarantine, failed"), (verdict.flaky, "flaky, passed when alone")):
        if rows:
            say(f"{title}: {len(rows)}")
            for line in record.lines(rows):
                say(line)
    if len(verdict.flaky) > MOST_FLAKES:
        say(f"more than {MOST_FLAKES} tests were flaky: the run has failed")


def _record(kind: str, outcomes: Outcomes, flaky: tuple[Outcome, ...], say: Callable[[str], None]) -> None:
    file = record.path()
    at = datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="seconds")
    record.append(file, record.Run(at, kind, len(outcomes.tests), flaky))
    for test, times in record.often(record.load(file)).items():
        say(f"flaked {times} times in the last {record.RUNS} runs: {test} (`make flakes` plays it ten times)")
