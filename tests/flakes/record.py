"""The file of flakes, which is kept between runs: a line for each run, with a row for each test that flaked in it.

A run without a flake has a line, too: a test is judged by the last runs of its kind.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.outcomes.outcome import Outcome

VARIABLE = "MUSTER_FLAKES"
"""The environment variable that names another file."""
RUNS = 20
OFTEN = 2
"""A test that flaked so often in the last runs of its kind is mended, or its claim is dropped."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one kind of tests."""

    at: str
    kind: str
    """The marks that chose the tests, or the name of the real world: runs of one kind are compared."""
    tests: int
    flakes: tuple[Outcome, ...] = ()


def path(variables: Mapping[str, str] = os.environ) -> Path:
    """The file."""
    return Path(variables.get(VARIABLE) or Path.home() / ".cache" / "muster" / "flakes.jsonl")


def append(file: Path, run: Run) -> None:
    """Add a run; a line is written in one call, so that runs beside each other do not mix."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as opened:
        opened.write(json.dumps(asdict(run)) + "\n")


def load(file: Path) -> list[Run]:
    """All runs, the oldest first."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    found = [json.loads(line) for line in lines]
    return [Run(**{**each, "flakes": tuple(Outcome(**row) for row in each["flakes"])}) for each in found]


def often(runs: Sequence[Run]) -> dict[str, int]:
    """The tests that flaked too often in the last runs of their kind, and how often they did."""
    counted: Counter[str] = Counter()
    for kind in {each.kind for each in runs}:
        recent = [each for each in runs if each.kind == kind][-RUNS:]
        counted.update(row.test for each in recent for row in each.flakes)
    return {test: times for test, times in sorted(counted.items()) if times >= OFTEN}


def lines(rows: Iterable[Outcome]) -> Iterable[str]:
    """What is printed of each row."""
    for row in rows:
        pressure = "" if row.pressure is None else f", processes waited for a processor in {row.pressure:g} % of 10 s"
        yield f"  {row.test}: failed after {row.seconds:.1f} s{pressure}"
        yield from (f"    {line}" for line in row.why.splitlines())
