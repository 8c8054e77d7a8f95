"""How the situations of `make real` and `make real-node` are played: several at a time, those alone, and what failed.

What failed is played once more when all else has ended, one after the other, until one fails again. The table says it
of each row that passed then, and what had failed at first stands below the table.
"""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from muster.local import tether
from tests.real import rows
from tests.real.ground import ROOT, Ground

PASSED, FAILED, INTERRUPTED, NOTHING_COLLECTED = 0, 1, 2, 5
"""Exit statuses of pytest."""
SECONDS_VARIABLE = "MUSTER_REAL_SECONDS"


def say(line: str) -> None:
    print(line, flush=True)


@dataclass(frozen=True)
class Play:
    """The situations of one folder on one ground, which are killed when the seconds for all of them are over."""

    tests: str
    arguments: list[str]
    """Of the person who plays; for pytest."""
    ground: Ground
    seconds: float

    def all(self, *parts: tuple[str, ...]) -> bool:
        """Each part with pytest's options of its own, then what failed, and the table; True if no row is bad."""
        limit = time.monotonic() + float(os.environ.get(SECONDS_VARIABLE) or self.seconds)
        remembered = ("-o", f"cache_dir={self.ground.folder}/pytest")
        statuses = {self._pytest(limit, *remembered, *options) for options in parts} - {PASSED, NOTHING_COLLECTED}
        if statuses == {FAILED}:
            say("those that failed, again and alone:")
            again = ("--last-failed", "--last-failed-no-failures=none", "--exitfirst")
            statuses = {self._pytest(limit, *remembered, *again)} - {PASSED}
        found = rows.load(Path(self.ground.rows))
        rows.show(found, Console(width=None if sys.stdout.isatty() else 180))
        return bool(found) and not statuses

    def _pytest(self, limit: float, *options: str) -> int:
        where = [] if any(each.startswith(f"{self.tests}/") for each in self.arguments) else [self.tests]
        command = tether.command([sys.executable, "-m", "pytest", *options, *self.arguments, *where])
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
        try:
            return process.wait(max(1.0, limit - time.monotonic()))
        except subprocess.TimeoutExpired:
            say(f"the situations did not end in the time they have ({SECONDS_VARIABLE} sets it)")
            return INTERRUPTED
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def last_line(ground: Ground, began: float) -> str:
    """How many there were, and how many are bad."""
    found = rows.load(Path(ground.rows))
    bad = sum(row["verdict"] == rows.FAILED for row in found)
    again = sum(row["verdict"] == rows.AGAIN for row in found)
    passed = f", {again} only when played again" if again else ""
    return f"{len(found)} situations, {bad} not as they should be{passed}, {time.monotonic() - began:.0f} s"
