"""The table that `make real` prints: a row per situation.

A test fills its row; pytest's verdict is added by ``conftest``. Rows travel through a file of JSON lines, because the
tests run in several processes. A test that is played again has two rows there, and one in the table.
"""

import json
import time
from collections.abc import Iterable
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from muster.api.values.printable import printable

OK, FAILED, AGAIN = "ok", "FAILED", "ok again"
"""Verdicts; the last is that of a test which failed and passed when it was played again."""
COLOURS = {OK: "green", FAILED: "bold red", AGAIN: "yellow", "skipped": "dim"}


class Row:
    """One situation: what happened, what Muster reported, and how long that took."""

    def __init__(self) -> None:
        self.happened = ""
        self.said = ""
        self.seconds: float | None = None
        self._began = time.monotonic()

    def happens(self, what: str) -> None:
        """The situation begins now."""
        self.happened = what
        self._began = time.monotonic()

    def says(self, sentence: str) -> None:
        """Muster's sentence, now. The last one is in the table."""
        self.seconds = time.monotonic() - self._began
        self.said = sentence


def save(path: Path, row: Row, verdict: str, test: str, why: str = "") -> None:
    """Append a row; a line is written in one call, so that processes do not mix. ``why`` is what pytest prints of a
    failure."""
    cells = {
        "happened": row.happened or test,
        "said": row.said,
        "seconds": row.seconds,
        "verdict": verdict,
        "test": test,
        "why": why,
    }
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(cells) + "\n")


def load(path: Path) -> list[dict[str, object]]:
    """The last row of each test, in the order of their names. It has the failure of the first that failed."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    found: dict[str, dict[str, object]] = {}
    for row in map(json.loads, lines):
        before = found.get(row["test"])
        if before is not None and before["verdict"] in (FAILED, AGAIN):
            row["why"] = before["why"]
            row["verdict"] = AGAIN if row["verdict"] == OK else row["verdict"]
        found[row["test"]] = row
    return [found[test] for test in sorted(found)]


def show(rows: Iterable[dict[str, object]], console: Console) -> None:
    """Print the table, and below it what failed: the end of a long log is read first."""
    rows = list(rows)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("what happened", ratio=3)
    table.add_column("what Muster said", ratio=6)
    table.add_column("s", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for row in rows:
        seconds, verdict = row["seconds"], str(row["verdict"])
        table.add_row(
            Text(str(row["happened"])),
            Text(printable(str(row["said"]))),
            f"{seconds:.1f}" if isinstance(seconds, float) else "",
            Text(verdict, COLOURS.get(verdict, "")),
        )
    console.print(table)
    for row in rows:
        if row["why"]:
            console.print(Text(f"{row['verdict']}: {row['test']}", COLOURS.get(str(row["verdict"]), "")))
            console.print(Text(printable(str(row["why"]))), soft_wrap=True)
