"""Style of the lines of an explanation: their colours, their time zone, and facts as people read them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Final

from muster.api.values.durations import age, count_of
from muster.api.values.printable import printable
from muster.api.values.rank_ranges import in_words
from muster.client.snapshot import Snapshot
from muster.rollcall import TONES, stuck

GOOD: Final = "green"
BAD: Final = "red"
BUSY: Final = "yellow"
DIM: Final = "bright_black"

COLOURS: Final = {"ok": GOOD, "over": GOOD, "bad": BAD, "warn": BUSY, "soon": BUSY, "none": DIM}
"""The colours of tones (``muster.rollcall``)."""


def colour_of(phase: str) -> str | None:
    """Return the colour of a phase; None for any other word."""
    return COLOURS.get(TONES.get(phase, ""))


@dataclass(frozen=True, slots=True)
class Style:
    """``paint`` gives a text a colour (None: that of the other texts); ``zone`` is that of times of day.

    A zone of None is that of this machine.
    """

    paint: Callable[[str, str | None], str]
    zone: tzinfo | None

    def phase(self, phase: str) -> str:
        """Return a phase in its colour."""
        return self.paint(printable(phase), colour_of(phase))

    def stuck(self, reason: str) -> str:
        """Return ``stuck (RanksMissing)`` in its colour."""
        return self.paint(stuck(printable(reason)), BAD)

    def head(self, name: str, phase: str, facts: Iterable[str]) -> str:
        """Return ``team/train  Running  jax, epoch 2, 1 restart``; empty facts are left out."""
        return f"{printable(name)}  {self.phase(phase)}  {', '.join(filter(None, facts))}"


PLAIN: Final = Style(lambda text, _colour: text, UTC)
"""For a file: no colours, and times of day in UTC."""


def restarts(number: int) -> str:
    """Return ``1 restart``, ``3 restarts``; empty for none."""
    return count_of(number, "restart") if number else ""


def arrivals(arrived: int, expected: int, missing: Iterable[int]) -> str:
    """Return ``5/16 arrived; missing 2, 4-6 and 7 more``. ``missing`` has those of the missing ranks that are named."""
    named = sorted(missing)
    ranks = in_words(named, unnamed=expected - arrived - len(named))
    return f"{arrived}/{expected} arrived" + (f"; missing {ranks}" if named else "")


NO_TIME = "--:--:--"


def clock_left(seen: Snapshot, now: float) -> str:
    """Return the time that is left until the deadline; nothing once the experiment has finished."""
    return "" if seen.finished else left(seen.deadline, now)


def since(then: float | None, now: float) -> str:
    """Return the time since ``then``; empty if it is not known."""
    return "" if then is None else age(max(0.0, now - then))


def left(then: float | None, now: float) -> str:
    """Return the time until ``then``; empty if there is no such time, ``0s`` once it has passed."""
    return "" if then is None else age(max(0.0, then - now))


def of_day(then: float | None, zone: tzinfo | None = None) -> str:
    """Return the time of day of ``then`` in that zone (None: this machine's), or dashes."""
    if then is None:
        return NO_TIME
    try:
        return datetime.fromtimestamp(then, UTC).astimezone(zone).strftime("%H:%M:%S")
    except (ValueError, OverflowError):  # beyond the year 9999 in this zone
        return NO_TIME
