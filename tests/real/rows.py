"""The table that `make real` prints: a row per situation.

A test fills its row; pytest's verdict is added by ``conftest``. Rows travel through a file of JSON lines, because the
tests run in several processes.
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

COLOURS = {"ok": "green", "FAILED": "bold red", "skipped": "dim"}


class Row:
    """One situation: what happened, what Muster said, and how long that took."""

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
        """Muster's sentence, now. The last one stands in the table."""
        self.seconds = time.monotonic() - self._began
        self.said = sentence


def save(path: Path, row: Row, verdict: str, test: str) -> None:
    """Append a row; a line is written in one call, so that processes do not mix."""
    cells = {
        "happened": row.happened or test,
        "said": row.said,
        "seconds": row.seconds,
        "verdict": verdict,
        "test": test,
    }
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(cells) + "\n")


def load(path: Path) -> list[dict[str, object]]:
    """The rows so far, in the order of their tests' names."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return sorted((json.loads(line) for line in lines), key=lambda row: str(row["test"]))


def show(rows: Iterable[dict[str, object]], console: Console) -> None:
    """Print the table."""
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
            Text(verdict, COLOURS.get(verdict, "yellow")),
        )
    console.print(table)
