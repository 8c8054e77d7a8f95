"""A row of the tables: one gang, what is played of which of its ranks, and what is to be said of it."""

import inspect
import re
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from muster.api.values.rank_ranges import from_ranges
from tests.frameworks.interpreters import CURRENT_TORCH, python_of, reason_without
from tests.hangs.programs import ways

PROGRAMS = Path(__file__).parent / "programs"
VERDICTS = ("Hung", "CollectiveStuck")
"""Reasons of Stuck that call a gang hung."""
MOST = 1000
RANKS = re.compile(r"\branks? (\d[\d, -]*)")
"""Ranks that a sentence names."""
OPERATIONS = {"leaves_early": "all_gather", "skips_all_reduce": "broadcast"}
"""What a rank calls while the others are in all_reduce, by its way."""
HINT = re.compile(r"no rank has (?:printed a line|made a step)[^\n]* for [^\n]+", re.IGNORECASE)


class Shown(StrEnum):
    """What shows a hang, and so what is to be said of it.

    ``gang``: steps show that the gang hangs, and not whom it waits for. From ``at work`` on no verdict has to follow.
    """

    PLACES = "places"
    STEPS = "steps"
    RECORDER = "recorder"
    MISMATCH = "mismatch"
    GANG = "gang"
    AT_WORK = "at work"
    HINT = "hint"
    NOTHING = "no verdict"


class Channel(StrEnum):
    """What the gang has of Muster."""

    ASSIST = "assist"
    REPORT = "report"
    ENDPOINT = "endpoint"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of gang. ``victims`` are the ranks of which the way is played, one in each run."""

    framework: str
    channel: Channel
    way: str
    shown: Shown
    program: str
    operator: str
    victims: tuple[int, ...] = (1, 2)
    size: int = 3
    needs: str = "jax"
    memory: float = 0.15
    """GB of a rank."""
    core: bool = False
    """Played by the test, too."""
    other: str = ""
    """Another interpreter than that of the tests, with another release of jax."""
    again: bool = False
    """The rank goes on once the hang was said, and then that is over."""

    @property
    def name(self) -> str:
        """The name of the row, and of its experiment."""
        release = f"-{Path(self.other).parts[-3]}" if self.other else ""
        return f"{self.framework}-{self.channel}-{self.way}{release}".replace("_", "-").replace(".", "-")

    @property
    def python(self) -> Path | None:
        """The interpreter that has the framework."""
        return Path(self.other or sys.executable) if self.needs == "jax" else python_of(self.needs)

    @property
    def missing(self) -> str:
        """Why it cannot be played here; empty where it can."""
        return "" if self.python else reason_without(self.needs)

    def victim(self, run: int) -> int:
        """The rank of that run."""
        return self.victims[run % len(self.victims)]

    def right(self, victim: int, sentence: str) -> bool:
        """The sentence of a verdict names the rank and what it does, and no other rank."""
        if self.shown is Shown.MISMATCH:
            called = re.search(rf"\brank {victim}\b[^;,]*\b{OPERATIONS[self.way]}\b", sentence)
            return called is not None and "all_reduce" in sentence
        if self.shown is Shown.GANG:
            return not named(sentence)
        return named(sentence) == {victim} and any(re.search(each, sentence) for each in self._says(victim))

    def right_hint(self, victim: int, line: str) -> bool:
        """A line of ``muster get`` has the hint, or says what that rank does, and no other rank."""
        at_work = re.search(rf"\brank {victim} (?:is [a-z ]+|waits for input) in \S+ \(", line)
        return HINT.search(line) is not None or (at_work is not None and named(line) == {victim})

    def _says(self, victim: int) -> tuple[str, ...]:
        place = rf"\brank {victim} (?:is in \S+ \({places_of(self.way)}\)|does not respond \(last seen in )"
        wait = rf"(?:1 of {self.size} ranks waits|[2-9] of {self.size} ranks wait)"
        waits = rf"\b{wait} in \w+ #\d+ \(default_pg\); rank {victim} has"
        apart = rf"\b1 of 2 ranks waits in \w+ #\d+ \(process group 1\); rank {victim} has"  # of ranks 0 and 1
        entered = (rf"{waits} entered only \d+", *(rf"{each} stopped reporting" for each in (waits, apart)))
        step = rf"\brank {victim} at \d+\)"
        return {Shown.PLACES: (place,), Shown.RECORDER: entered}.get(self.shown, (step, place, *entered))


def named(sentence: str) -> set[int]:
    """The ranks that a sentence names."""
    found = (each.replace(" ", "").strip(",-") for each in RANKS.findall(sentence))
    return {rank for ranges in found for rank in from_ranges(ranges, MOST)}


def places_of(way: str) -> str:
    """The lines of a way in its file, as a regular expression."""
    if not hasattr(ways, way):
        return r"\w+\.py:\d+"
    lines, first = inspect.getsourcelines(getattr(ways, way))
    return rf"ways\.py:(?:{'|'.join(map(str, range(first, first + len(lines))))})"


def jax(channel: Channel, way: str, shown: Shown, **more: object) -> Row:
    """A gang of jax."""
    return Row("jax", channel, way, shown, "jax_train.py", "jax", **more)  # type: ignore[arg-type]


def torch(channel: Channel, way: str, shown: Shown, program: str = "torch_train.py", **more: object) -> Row:
    """A gang of the current PyTorch."""
    made = {"needs": CURRENT_TORCH, "memory": 0.4 if program == "torch_train.py" else 0.55, **more}
    return Row("torch", channel, way, shown, program, "pytorch", **made)  # type: ignore[arg-type]
