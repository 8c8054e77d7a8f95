"""How the situations of `make real` and `make real-node` are played: several at a time, then those alone.

What failed is played once more when all else has ended (see ``tests.flakes``). The table marks each row that
passed then, and what had failed at first is below the table. The situations that were not played are named at the end.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from muster.local import tether
from tests.flakes.play import play
from tests.outcomes.outcome import environment
from tests.real import rows
from tests.real.ground import ROOT, Ground

INTERRUPTED = 2
"""An exit status of pytest."""
SECONDS_VARIABLE = "MUSTER_REAL_SECONDS"
LONGEST_NAME = 60


def say(line: str) -> None:
    print(line, flush=True)


@dataclass(frozen=True, slots=True)
class Choice:
    """What the person who plays asks of pytest."""

    marks: str = ""
    """The value of ``-m``, which is combined with the marks of each part."""
    arguments: tuple[str, ...] = ()

    def of(self, part: str) -> tuple[str, str]:
        """The option that chooses what is asked for of a part."""
        return ("-m", f"({part}) and ({self.marks})" if self.marks else part)

    def __bool__(self) -> bool:
        """Something is left out, or may be."""
        return bool(self.marks or self.arguments)


def chosen(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> Choice:
    """Parse the command line; with ``--help`` the process ends here."""
    parser.add_argument("-m", metavar="MARKS", default="", help="of pytest: -m core plays what CI plays at each change")
    parser.usage = "%(prog)s [-h] [-m MARKS] [pytest arguments]"
    found, others = parser.parse_known_args(list(arguments))
    return Choice(found.m, tuple(others))


@dataclass(frozen=True)
class Play:
    """The situations of one folder on one ground, which are killed when the seconds for all of them are over."""

    tests: str
    choice: Choice
    ground: Ground
    seconds: float

    def all(self, *parts: tuple[str, ...]) -> bool:
        """Each part: its marks, then pytest's options of its own; then what failed, and the table. True if nothing
        blocks."""
        limit = time.monotonic() + float(os.environ.get(SECONDS_VARIABLE) or self.seconds)
        where = [] if any(each.startswith(f"{self.tests}/") for each in self.choice.arguments) else [self.tests]
        asked = [[*self.choice.of(marks), *options, *self.choice.arguments, *where] for marks, *options in parts]
        played = play(self.tests, lambda arguments, folder: _pytest(arguments, folder, limit), asked, say)
        found = rows.load(Path(self.ground.rows))
        rows.show(found, Console(width=None if sys.stdout.isatty() else 180))
        for line in unplayed(self.tests, played.outcomes.unplayed, len(played.outcomes.all)):
            say(line)
        return bool(found) and played.well


def _pytest(arguments: Sequence[str], folder: Path, limit: float) -> int:
    command = tether.command([sys.executable, "-m", "pytest", "--rootdir=.", *arguments])
    variables = {**environment(folder), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, env=variables, start_new_session=True)
    try:
        return process.wait(max(1.0, limit - time.monotonic()))
    except subprocess.TimeoutExpired:
        say(f"the situations did not end in the time they have ({SECONDS_VARIABLE} sets it)")
        return INTERRUPTED
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def unplayed(tests: str, names: Sequence[str], of: int) -> Iterator[str]:
    """Which situations were not played: how many, and their short names by file. `.ci/run` prints these lines again."""
    if not names:
        yield f"not played: none of the {of} situations of {tests}"
        return
    yield f"not played: {len(names)} of the {of} situations of {tests}"
    by_file: dict[str, list[str]] = defaultdict(list)
    for name in names:
        file, _, test = name.partition("::")
        by_file[Path(file).stem.removeprefix("test_")].append(short(test))
    for file, found in by_file.items():
        yield textwrap.fill(f"{file}: {', '.join(found)}", 160, initial_indent="  ", subsequent_indent="    ")


def short(test: str) -> str:
    """A name of a situation that can be recognised: of a row of a table its parameters."""
    parameters = re.search(r"\[(.*)\]$", test)
    name = parameters[0] if parameters else test.removeprefix("test_")
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."


def last_line(ground: Ground, began: float) -> str:
    """How many there were, and how many are bad."""
    found = rows.load(Path(ground.rows))
    bad = sum(row["verdict"] == rows.FAILED for row in found)
    again = sum(row["verdict"] == rows.AGAIN for row in found)
    passed = f", {again} only when played again" if again else ""
    return f"{len(found)} situations, {bad} not as they should be{passed}, {time.monotonic() - began:.0f} s"
