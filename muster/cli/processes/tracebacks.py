"""The Python tracebacks in the logs of an epoch, found line by line.

An exception in one rank often stops the others without a word, and its traceback is in a log that is not shown. So the
first traceback of an epoch is shown whole as it is written, and of the following ones, which are mostly of ranks that
lost their peer, the last line. A program may also log exceptions that it has handled: after ``SHOWN`` of them nothing
more is shown.
"""

from collections import deque
from dataclasses import dataclass, field

HEAD = "Traceback (most recent call last):"
LONGEST = 60
"""Last lines kept of one traceback."""
SHOWN = 8
"""Tracebacks of an epoch that are shown."""


@dataclass(slots=True)
class Tracebacks:
    """The tracebacks of one epoch, the last one of each rank."""

    _last: dict[int, deque[str]] = field(default_factory=dict)
    _open: set[int] = field(default_factory=set)
    """Ranks whose last traceback has no exception yet."""
    _first: int | None = None
    """The rank of the first traceback, while that is written."""
    _count: int = 0

    def take(self, rank: int, line: str) -> bool:
        """Keep a line that belongs to a traceback. Whether it is worth showing."""
        if line.strip() == HEAD:
            self._last[rank] = deque(maxlen=LONGEST)
            self._open.add(rank)
            self._count += 1
            if self._count == 1:
                self._first = rank
        if rank not in self._open:
            return False
        self._last[rank].append(line)
        ended = line.strip() != HEAD and not line[:1].isspace() and bool(line)
        shown = rank == self._first or (ended and self._count <= SHOWN)
        if ended:
            self._open.discard(rank)
            if rank == self._first:
                self._first = None
        return shown

    def of(self, rank: int) -> list[str]:
        """The last traceback of that rank; empty where it has none."""
        return list(self._last.get(rank, ()))

    def first(self) -> tuple[int, list[str]]:
        """The rank that was the first to have a traceback, and its last one; -1 where none has."""
        rank = next(iter(self._last), -1)
        return rank, self.of(rank)

    def ended_with(self, rank: int, line: str) -> bool:
        """That line of the rank has ended its traceback."""
        return rank not in self._open and rank in self._last and self._last[rank][-1] == line
