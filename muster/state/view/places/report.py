"""The report of one rank about its place (``muster.api.places``), and ranks at one place."""

from math import inf
from typing import NamedTuple

from muster.api.places import RETURNS, located
from muster.state.view.at_work import Doing


class PlaceReport(NamedTuple):
    """The place of one rank. It is a claim of the program."""

    rank: int
    at: float
    """The time by the monotonic clock of the program, as ``since``."""
    since: float
    longest: float = 0.0
    returns: int = RETURNS
    function: str = ""
    file: str = ""
    line: int = 0
    stack: str = ""
    """Equal for equal stacks."""
    quiet: float = inf
    """Seconds since the process was last seen at work, as of this report."""
    how: str = ""
    alone: bool = False
    """True if it waits, and for no other rank."""
    pause: float = 0.0
    """Seconds of a pause that the program has announced, and that is not over."""
    processes: int = 0
    """The number of processes that it has joined with; 0 if that is not known."""

    @property
    def doing(self) -> Doing:
        """The work of the rank."""
        return Doing(self.place, self.quiet, self.how, self.alone)

    @property
    def stood(self) -> float:
        """Seconds in this call, as of this report."""
        return max(0.0, self.at - self.since)

    @property
    def place(self) -> str:
        """``in next (data.py:41)``."""
        return located(self.function, self.file, self.line)


class Heard(NamedTuple):
    """The last report of a rank, and when it was first read: seconds after ``Places.began_at``."""

    report: PlaceReport
    after: float


class PlaceGroup(NamedTuple):
    """Ranks at one place, ascending."""

    ranks: tuple[int, ...]
    place: str
    answers: bool = True
