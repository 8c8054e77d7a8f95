"""What one rank says of where it stands (``muster.api.places``), and ranks that stand at one place."""

from typing import NamedTuple

from muster.api.places import RETURNS


class PlaceReport(NamedTuple):
    """Where one rank stands. It is a claim of the program."""

    rank: int
    at: float
    """By the monotonic clock of the program, as ``since``."""
    since: float
    longest: float = 0.0
    returns: int = RETURNS
    function: str = ""
    file: str = ""
    line: int = 0
    stack: str = ""
    """Equal for equal stacks."""

    @property
    def stood(self) -> float:
        """Seconds in this call, as of this report."""
        return max(0.0, self.at - self.since)

    @property
    def place(self) -> str:
        """``next (data.py:41)``."""
        return f"{self.function} ({self.file}:{self.line})"


class Heard(NamedTuple):
    """The last report of a rank, and when it was first read: seconds after ``Places.began_at``."""

    report: PlaceReport
    after: float


class PlaceGroup(NamedTuple):
    """Ranks at one place, ascending."""

    ranks: tuple[int, ...]
    place: str
    answers: bool = True

    @property
    def activity(self) -> str:
        """``in next (data.py:41)``, ``no answer (last seen in next (data.py:41))``."""
        return f"in {self.place}" if self.answers else f"no answer (last seen in {self.place})"
