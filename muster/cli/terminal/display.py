"""Display of ``muster run`` while an experiment runs.

On a terminal: a block at the bottom that is drawn again in place, with phase, message, roll call and clocks; log lines
scroll above it. Elsewhere: one plain line per change. Both show the same facts; the log lines are data and go to
standard output. The roll call is the document of the daemon's page. The reason of an end is the command's last line.
"""

import sys
import time
from math import ceil
from typing import NamedTuple

import click
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from muster.api.values.durations import count_of
from muster.api.values.printable import printable
from muster.api.values.rank_ranges import from_ranges
from muster.cli.terminal.colours import colourful, data, say
from muster.cli.terminal.progress import ChangePrinter
from muster.cli.terminal.style import log_line, rank_prefix
from muster.client.explaining.style import BAD, BUSY, DIM, GOOD, arrivals, colour_of, restarts, since
from muster.client.snapshot import Snapshot
from muster.rollcall import stuck, until
from muster.rollcall.document import Detail

LARGEST_ROW = 64
"""Ranks that are shown one by one; a larger gang is shown by counts."""
NAMED = 8
"""Missing ranks that are named: a row has room for them."""

MARKS = {
    "connected": ("●", "#", GOOD),
    "arrived": ("●", "#", BUSY),
    "missing": ("○", ".", BAD),
    "failed": ("✗", "x", BAD),
    "left": ("✓", "v", DIM),
}
"""Per state of a rank (``muster.state.view.roll.RankState``): the mark, the mark without UTF-8, and the colour."""


def rolled(roll: Detail) -> str:
    """Return ``3/4 arrived; missing 2``; empty where the number of arrived ranks is not known."""
    if roll.arrived is None or not roll.size:
        return ""
    return arrivals(roll.arrived, roll.size, (each.rank for each in roll.missing_ranks[:NAMED]))


def marks(roll: Detail) -> list[tuple[str, str, str]]:
    """Return mark, plain mark and colour of each rank, in order; empty for a gang that is too large to be shown so."""
    if roll.size > LARGEST_ROW:
        return []
    states = {rank: state for state, ranges in roll.ranks.items() for rank in from_ranges(ranges, roll.size)}
    other = "arrived" if roll.arrived == roll.size else "missing"
    return [MARKS.get(states.get(rank, other), MARKS["missing"]) for rank in range(roll.size)]


FRAMES_PER_SECOND = 4
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class Ending(NamedTuple):
    """The ranks of an experiment that has ended and whose grace period runs."""

    ranks: int
    until: float
    """The end of the grace period, on the monotonic clock."""
    again: bool
    """Ctrl-C was pressed already."""

    def words(self, now: float) -> str:
        """Return how many are waited for, and how long; empty if all have ended."""
        if not self.ranks:
            return ""
        left = max(0, ceil(self.until - now))
        ranks = count_of(self.ranks, "rank")
        return f"waiting for {ranks} to end, {left} s left; Ctrl-C {'again ' if self.again else ''}stops them now"


class Lines:
    """The display where standard error is no terminal."""

    def __init__(self) -> None:
        self._printer = ChangePrinter(says_end=False)

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def say(self, words: str) -> None:
        """Print a message of the command itself."""
        say(words)

    def log(self, rank: int, line: str) -> None:
        """Print a line of a rank, prefixed with the rank."""
        data(log_line(line, rank_prefix(rank)))

    def show(self, seen: Snapshot) -> None:
        """Print what changed since the last snapshot."""
        self._printer.print(seen)

    def show_roll(self, roll: Detail) -> None:
        """Print nothing: the experiment's message has it too, once per change."""

    def show_ending(self, ending: Ending) -> None:
        """Print how many ranks are waited for."""
        if words := ending.words(time.monotonic()):
            self.say(words)


class Block:
    """The display for a terminal."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, markup=False, no_color=not colourful(sys.stderr))
        self._live = Live(self, console=self._console, refresh_per_second=FRAMES_PER_SECOND, transient=True)
        self._same_terminal = sys.stdout.isatty()
        self._utf8 = "utf" in (sys.stderr.encoding or "").lower()
        self._seen: Snapshot | None = None
        self._roll: Detail | None = None
        self._ending: Ending | None = None

    def __enter__(self) -> "Block":
        self._live.start(refresh=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def say(self, words: str) -> None:
        """Print a message of the command itself above the block."""
        self._console.print(Text(click.unstyle(words)))

    def log(self, rank: int, line: str) -> None:
        """Print a line of a rank above the block, or to standard output if that is not this terminal."""
        text = log_line(line, rank_prefix(rank))
        if self._same_terminal:
            self.say(text)
        else:
            data(text)

    def show(self, seen: Snapshot) -> None:
        """Show the snapshot at the next frame. Print a line above the block if the phase changed or it became Stuck."""
        before, self._seen = self._seen, seen
        if before is not None and seen.stuck and not before.stuck:
            self.say(printable(f"Stuck: {seen.stuck.reason}: {seen.stuck.message}"))
        if before is not None and seen.phase and seen.phase != before.phase:
            words = "" if seen.finished else seen.message or seen.reason
            self.say(printable(f"{seen.phase}: {words}").rstrip(": "))

    def show_roll(self, roll: Detail) -> None:
        """Show the roll call at the next frame."""
        self._roll = roll

    def show_ending(self, ending: Ending) -> None:
        """Count down from the next frame on."""
        self._ending = ending

    def __rich__(self) -> Group:
        """Return the block as it is now; rich asks for it at every frame."""
        if self._seen is None:
            return Group()
        lines = [self._head(self._seen, time.time())]
        waiting = self._ending.words(time.monotonic()) if self._ending is not None else ""
        if message := waiting or printable(self._seen.message or self._seen.reason):
            lines.append(Text(f"  {message}", overflow="ellipsis", no_wrap=True))
        if self._roll is not None:
            lines += self._ranks(self._roll)
        return Group(*lines)

    def _head(self, seen: Snapshot, now: float) -> Text:
        status = seen.status
        head = Text.assemble(
            f"{SPINNER[int(time.monotonic() * FRAMES_PER_SECOND) % len(SPINNER)] if self._utf8 else '*'} ",
            (printable(seen.name), "bold"),
            "  ",
            (printable(seen.phase) or "Submitted", colour_of(seen.phase) or ""),
        )
        if seen.stuck:
            head.append(f"  {stuck(printable(seen.stuck.reason))}", BAD)
        facts = [f"epoch {status.epoch_begun}", restarts(status.restarts_begun)]
        facts.append(f"{since(seen.created, now) or '0s'} old")
        clocks = self._roll.clocks if self._roll is not None else {}
        if self._ending is None:
            facts += [f"{until(seconds)} on the {printable(name)} clock" for name, seconds in clocks.items()]
            facts.append(until(seen.deadline - now) if seen.deadline is not None and not clocks else "")
        return head.append("  " + ", ".join(filter(None, facts)), DIM)

    def _ranks(self, roll: Detail) -> list[Text]:
        row = Text("  ranks  ")
        for mark, plain, colour in marks(roll):
            row.append(f"{mark if self._utf8 else plain} ", colour)
        row.append(f" {rolled(roll)}")
        shown = [row] if rolled(roll) or roll.ranks else []
        first = [printable(each.why) for each in roll.missing_ranks[:3]]
        return shown + [Text(f"         {why}", DIM, overflow="ellipsis", no_wrap=True) for why in first]


Display = Lines | Block
"""Screen for a run: a context manager, used while it is open."""


def choose_display() -> Display:
    """Return a block on a terminal, lines elsewhere."""
    return Block() if sys.stderr.isatty() else Lines()
