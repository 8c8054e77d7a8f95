"""Frames of Python stacks, and what a stack does in one line.

A stack is described by the line of the program, and by what that line called: ``all_reduce at train.py:88`` says more
than a line deep inside a framework.
"""

import re
from dataclasses import dataclass

_LIBRARY = re.compile(r"/(?:site|dist)-packages/|/lib(?:64)?/python3\.\d+t?/|^<frozen |^<__array_function__")


@dataclass(frozen=True, slots=True)
class Frame:
    """One call: its function, and the line that it runs; 0 where that is not known."""

    function: str
    file: str
    line: int

    @property
    def library(self) -> bool:
        """The file belongs to Python or to an installed package, not to the program."""
        return _LIBRARY.search(self.file) is not None

    @property
    def place(self) -> str:
        """``train.py:88``."""
        return f"{self.file.rpartition('/')[2]}:{self.line or '?'}"


@dataclass(frozen=True, slots=True)
class ThreadStack:
    """The calls of a thread, the innermost first."""

    name: str
    main: bool
    frames: tuple[Frame, ...]


@dataclass(frozen=True, slots=True)
class ProcessStacks:
    """What a process did at one moment. ``source`` is the program that read it, ``raw`` its own words."""

    pid: int
    command: str
    source: str
    threads: tuple[ThreadStack, ...]
    raw: str

    @property
    def main(self) -> ThreadStack | None:
        """The main thread, else the last one that is known: Python lists the oldest thread last."""
        return next((each for each in self.threads if each.main), self.threads[-1] if self.threads else None)


@dataclass(frozen=True, slots=True)
class Activity:
    """``in FUNCTION at PLACE``: the innermost line of the program, and the function that it called."""

    function: str
    place: str

    @classmethod
    def of(cls, frames: tuple[Frame, ...]) -> "Activity | None":
        """What the calls do; None without any. Where no frame is the program's, it is the innermost."""
        if not frames:
            return None
        index = next((index for index, frame in enumerate(frames) if not frame.library), 0)
        return cls(frames[max(0, index - 1)].function, frames[index].place)
