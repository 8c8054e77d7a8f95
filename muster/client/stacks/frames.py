"""Frames of Python stacks, and what a stack does in one line.

A stack is described by the line of the program, and by what that line called: ``all_reduce at train.py:88`` is more
useful than a line deep inside a framework.

Ranks with equal stacks are one group. Two stacks are equal if the main threads are in the same functions of the same
files, and at the same line of the program. Lines inside of libraries and of the program's outer calls do not count.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from muster.api.values.rank_ranges import in_words
from muster.assist.mounted.place_watch import activity


@dataclass(frozen=True, slots=True)
class Frame:
    """One call: its function, and the line that it runs; 0 where that is not known."""

    function: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class ThreadStack:
    """The calls of a thread, the innermost first."""

    name: str
    main: bool
    frames: tuple[Frame, ...]


@dataclass(frozen=True, slots=True)
class ProcessStacks:
    """Stacks of a process at one moment. ``source`` is the program that read them, ``raw`` its own words."""

    pid: int
    command: str
    source: str
    threads: tuple[ThreadStack, ...]
    raw: str

    @property
    def main(self) -> ThreadStack | None:
        """Return the main thread, else the last one that is known: Python lists the oldest thread last."""
        return next((each for each in self.threads if each.main), self.threads[-1] if self.threads else None)


@dataclass(frozen=True, slots=True)
class Activity:
    """``in FUNCTION at PLACE``: the innermost line of the program, and the function that it called."""

    function: str
    place: str

    @classmethod
    def of(cls, frames: tuple[Frame, ...]) -> "Activity | None":
        """Return the activity of the calls; None without any. If no frame is the program's, it is the innermost."""
        if not frames:
            return None
        function, file, line = activity([(each.function, each.file, each.line) for each in frames])
        return cls(function, f"{file}:{line or '?'}")


@dataclass(frozen=True, slots=True)
class RankStacks:
    """The processes of a rank, or why there are none, or not all."""

    rank: int
    pod: str
    processes: tuple[ProcessStacks, ...] = ()
    unread: str = ""


@dataclass(frozen=True, slots=True)
class StackGroup:
    """Processes that do the same. ``frames`` are those of the lowest rank, the innermost first."""

    ranks: tuple[int, ...]
    processes: int
    doing: Activity | None
    """None where they have no frame."""
    frames: tuple[Frame, ...]

    @property
    def sentence(self) -> str:
        """Return ``rank 37 in next at data.py:41``, or ``510 ranks (0-36, 38-510) in all_reduce at train.py:88``."""
        return f"{self.who} {self.activity}"

    @property
    def who(self) -> str:
        """Return ``rank 37``, or ``510 ranks (0-36, 38-510)``."""
        return ranks_text(self.ranks, self.processes)

    @property
    def activity(self) -> str:
        """Return ``in next at data.py:41``."""
        return f"in {self.doing.function} at {self.doing.place}" if self.doing else "in no Python function"


@dataclass(frozen=True, slots=True)
class Unread:
    """Ranks without stacks, or without some, for one reason."""

    ranks: tuple[int, ...]
    why: str

    @property
    def sentence(self) -> str:
        """Return ``rank 3: no py-spy in the image and spec.assist is off``."""
        return f"{ranks_text(self.ranks)}: {self.why}"


def ranks_text(ranks: Sequence[int], processes: int = 0) -> str:
    """Return ``rank 3``, ``4 ranks (0-2, 5)``; with more processes than ranks ``2 ranks (0-1, 16 processes)``."""
    more = f"{processes} processes" if processes > len(ranks) else ""
    if len(ranks) == 1:
        return f"rank {ranks[0]}" + (f" ({more})" if more else "")
    return f"{len(ranks)} ranks ({', '.join(filter(None, (in_words(ranks), more)))})"


def grouped(found: Iterable[RankStacks]) -> tuple[StackGroup, ...]:
    """Return the groups, the largest first, then by rank."""
    members: dict[tuple[object, ...], list[tuple[int, tuple[Frame, ...]]]] = {}
    for each in sorted(found, key=lambda one: one.rank):
        for process in each.processes:
            frames = process.main.frames if process.main else ()
            calls = tuple((frame.file, frame.function) for frame in frames)
            members.setdefault((calls, Activity.of(frames)), []).append((each.rank, frames))
    groups = []
    for same in members.values():
        ranks, frames = tuple(dict.fromkeys(rank for rank, _ in same)), same[0][1]
        groups.append(StackGroup(ranks, len(same), Activity.of(frames), frames))
    return tuple(sorted(groups, key=lambda group: (-len(group.ranks), group.ranks)))


def unread(found: Iterable[RankStacks]) -> tuple[Unread, ...]:
    """Return the ranks without all their stacks by reason, by rank."""
    reasons: dict[str, list[int]] = {}
    for each in sorted(found, key=lambda one: one.rank):
        if each.unread:
            reasons.setdefault(each.unread, []).append(each.rank)
    return tuple(Unread(tuple(ranks), why) for why, ranks in reasons.items())
