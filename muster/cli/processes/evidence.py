"""Evidence of an epoch's end in its logs: tracebacks, last lines, and failures that a restart cannot cure."""

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from muster.api.causes import Cause
from muster.api.last_words import FRONT, HEAD, is_noise, is_of_a_launcher, tracebacks
from muster.api.values.durations import age, count_of
from muster.api.values.printable import printable
from muster.api.values.rank_ranges import in_words

_OF_A_SHELL = {126: "the shell cannot execute the program", 127: "the shell does not find the program"}
"""Exit codes of a shell without its program (POSIX.1, Shell Command Language, 2.8.2)."""

_MISSING = (
    re.compile(r"\S*python\S*: can't open file .* No such file or directory"),
    re.compile(r"\S*python\S*: (No module named |Error while finding module specification )"),
    re.compile(r"ModuleNotFoundError: No module named "),
    re.compile(r"\S*sh: (\d+: )?([Cc]an't|cannot) open .*No such file"),
)
"""Last lines of python (script, module, import) and of dash, whose exit code is ambiguous."""


def futile(exit_code: int | None, last_line: str) -> str:
    """Return why the same program would end in the same way again; empty where it may not.

    On a cluster even such a failure is retried, as a volume may be mounted a moment later. A person at a terminal has
    mistyped the name of the program, of its script or of a module, and would wait through every restart and back-off
    for the same message. ``last_line`` is the last one that the failed member printed; empty where it is not known.
    """
    if exit_code in _OF_A_SHELL:
        return last_line or _OF_A_SHELL[exit_code]
    return last_line if exit_code and any(pattern.match(last_line) for pattern in _MISSING) else ""


LONGEST = 60
"""Last lines that are shown of one traceback. One more is kept."""
SHOWN = 8
"""Tracebacks of an epoch that are shown."""
GROUP = "+ Exception Group "
"""Is in front of the head of the traceback of an exception group; its other lines have a bar there."""
QUOTED = "traceback :"
"""Begins the line in which torchrun repeats a traceback."""


@dataclass(slots=True)
class _Traceback:
    front: str
    """Text in front of each of its lines: ``[rank1]: ``."""
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=LONGEST + 1))

    def plain(self) -> list[str]:
        """Return its lines without that."""
        return [line[len(self.front) :] for line in self.lines]


@dataclass(slots=True)
class Tracebacks:
    """The Python tracebacks of one epoch, the last one of each rank that is the program's and not its launcher's.

    An exception in one rank often stops the others without a word, and its traceback is in a log that is not shown. So
    the first traceback of an epoch is shown whole as it is written, and of the following ones, which are mostly of
    ranks that lost their peer, the last line, unless that was shown of another rank. A program may also log exceptions
    that it has handled: after ``SHOWN`` of them nothing more is shown.
    """

    _last: dict[int, _Traceback] = field(default_factory=dict)
    _open: dict[int, _Traceback] = field(default_factory=dict)
    """The traceback of each rank that has no exception yet."""
    _first: int | None = None
    """The rank of the first traceback, while that is written."""
    _count: int = 0
    _shown: set[str] = field(default_factory=set)
    """The last lines that were shown, at most ``SHOWN``."""

    def take(self, rank: int, line: str) -> bool:
        """Keep a line that belongs to a traceback; return whether it is worth showing."""
        stripped = line.rstrip()
        head = stripped.endswith(HEAD) and len(stripped) <= FRONT + len(HEAD) and QUOTED not in stripped
        if head:
            self._open[rank] = _Traceback(stripped.removesuffix(HEAD).replace(GROUP, "| "))
            self._count += 1
            if self._count == 1:
                self._first = rank
        found = self._open.get(rank)
        if found is None or not (head or line.startswith(found.front.rstrip())):
            return False
        found.lines.append(line)
        text = line[len(found.front) :]
        ended = not head and bool(text) and not text[:1].isspace()
        shown = rank == self._first or (ended and self._count <= SHOWN and text not in self._shown)
        if ended:
            if shown and len(self._shown) < SHOWN:
                self._shown.add(text)
            self._end(rank, found)
        return shown

    def _end(self, rank: int, found: _Traceback) -> None:
        del self._open[rank]
        if rank == self._first:
            self._first = None
        read = tracebacks(found.plain())
        if rank not in self._last or not (read and is_of_a_launcher(read[-1])):
            self._last[rank] = found

    def of(self, rank: int) -> list[str]:
        """Return the last traceback of that rank; empty where it has none."""
        found = self._last.get(rank) or self._open.get(rank)
        return found.plain() if found else []

    def same_as(self, rank: int) -> list[int]:
        """Return the other ranks whose last traceback has the same last line."""
        own = self.of(rank)[-1:]
        return sorted(other for other in self._last if own and other != rank and self.of(other)[-1:] == own)

    def first(self) -> tuple[int, list[str]]:
        """Return the rank that was the first to have a traceback, and its last one; -1 where none has."""
        rank = next(iter(self._last), next(iter(self._open), -1))
        return rank, self.of(rank)

    def ended_with(self, rank: int, line: str) -> bool:
        """Return whether that line of the rank ended its traceback."""
        return rank not in self._open and rank in self._last and self._last[rank].lines[-1] == line


RUNS_ON: Final = 10.0
"""Seconds after which a rank that has printed a traceback, and nothing since, is reported to run on."""
STATE_DUMP: Final = "[state-dump]"
"""Begins each of some thirty lines that raylet prints when a node of Ray is lost."""
NAMED: Final = 60
"""Characters of the ranks that have raised the same."""
_ABORTED: Final = 134


class Printed(NamedTuple):
    """A line of a log. ``at`` is its time in wall seconds by the clock of the node, where it is known."""

    text: str
    shown: bool
    at: float | None = None


def of_end(cause: Cause | None, tracebacks: Tracebacks, last: Mapping[int, Printed], survivor_text: str) -> list[str]:
    """Return the lines to print after a failure. ``last`` has the last line of each rank.

    The traceback of a rank that has lost another one is not the cause, and is not shown as if it were.
    """
    failed = -1 if cause is None else cause.rank
    if own := tracebacks.of(failed):
        return _titled(f"the traceback of rank {failed}{_and_more(tracebacks, failed)} was:", own)
    rank, lines = tracebacks.first()
    if cause is None or failed < 0:
        return _titled(f"the traceback of rank {rank}{_and_more(tracebacks, rank)} was:", lines)
    shown = []
    if (line := last.get(failed)) is not None and not is_noise(line.text):
        end = "its end" if cause.exit_code else "the end of the gang"
        before = "" if line.at is None or not cause.at else f", {age(max(0.0, cause.at - line.at))} before {end}"
        shown.append(f"the last line of rank {failed}{before}: {printable(line.text)}")
    if not lines:
        return shown
    if survivor_text and re.search(survivor_text, lines[-1]):
        why = f"gave up waiting for rank {failed}" if cause.evidence else f"failed because rank {failed} was gone"
        return [*shown, printable(f"rank {rank} {why}: {lines[-1]}")]
    return [*shown, *_titled(f"rank {failed} is the cause, and printed no traceback; rank {rank} did:", lines)]


def exception_before(cause: Cause | None, tracebacks: Tracebacks) -> str:
    """Return the exception that a rank had raised before it was aborted while it waited for the others."""
    if cause is None or cause.exit_code not in (None, _ABORTED) or not (own := tracebacks.of(cause.rank)):
        return ""
    return f"rank {cause.rank} had raised {printable(own[-1])}"


def runs_on(rank: int, exception: str, *, assisted: bool) -> str:
    """Return the line about a rank whose process has not ended after a traceback."""
    ends = "" if assisted else "; --assist ends it then"
    raised = printable(exception).partition(":")[0]
    return (
        f"rank {rank} has raised {raised} and has neither ended nor printed anything for {age(RUNS_ON)}: "
        f"unless the program caught it, it waits for the others{ends}"
    )


def _and_more(tracebacks: Tracebacks, rank: int) -> str:
    others = tracebacks.same_as(rank)
    if not others:
        return ""
    return f" (its last line is the same in {count_of(len(others), 'more rank')}: {in_words(others, NAMED)})"


def _titled(title: str, lines: list[str]) -> list[str]:
    shown = [f"  {printable(line)}" for line in lines[-LONGEST:]]
    if len(lines) > LONGEST:
        shown.insert(0, f"  … (its last {LONGEST} lines)")
    return [title, *shown] if shown else []
