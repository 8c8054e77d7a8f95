"""The Python tracebacks in the logs of an epoch, found line by line.

An exception in one rank often stops the others without a word, and its traceback is in a log that is not shown. So the
first traceback of an epoch is shown whole as it is written, and of the following ones, which are mostly of ranks that
lost their peer, the last line, unless that was shown of another rank. A program may also log exceptions that it has
handled: after ``SHOWN`` of them nothing more is shown.
"""

from collections import deque
from dataclasses import dataclass, field

from muster.api.last_words.launchers import is_of_a_launcher
from muster.api.last_words.tracebacks import FRONT, HEAD, tracebacks

LONGEST = 60
"""Last lines kept of one traceback."""
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
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=LONGEST))

    def plain(self) -> list[str]:
        """Return its lines without that."""
        return [line[len(self.front) :] for line in self.lines]


@dataclass(slots=True)
class Tracebacks:
    """The tracebacks of one epoch, the last one of each rank that is the program's and not its launcher's."""

    _last: dict[int, _Traceback] = field(default_factory=dict)
    _open: dict[int, _Traceback] = field(default_factory=dict)
    """The traceback of each rank that has no exception yet."""
    _first: int | None = None
    """The rank of the first traceback, while that is written."""
    _count: int = 0
    _shown: set[str] = field(default_factory=set)
    """The last lines that were shown, at most ``SHOWN``."""

    def take(self, rank: int, line: str) -> bool:
        """Keep a line that belongs to a traceback. Whether it is worth showing."""
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
