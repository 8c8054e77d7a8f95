"""Style of the lines of an explanation: their colours, their time zone, and times as people read them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from types import MappingProxyType
from typing import Final

from muster.api.values.durations import age
from muster.api.values.printable import printable
from muster.client.snapshot import Snapshot

GOOD: Final = "green"
BAD: Final = "red"
BUSY: Final = "yellow"
DIM: Final = "bright_black"

PHASE_COLOURS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Succeeded": GOOD,
        "Running": GOOD,
        "Failed": BAD,
        "Restarting": BUSY,
        "Assembling": BUSY,
        "Pending": BUSY,
        "Queued": DIM,
        "Suspended": DIM,
    }
)


@dataclass(frozen=True, slots=True)
class Style:
    """``paint`` gives a text a colour (None: that of the other texts); ``zone`` is that of times of day.

    A zone of None is that of this machine.
    """

    paint: Callable[[str, str | None], str]
    zone: tzinfo | None

    def phase(self, phase: str) -> str:
        """Return a phase in its colour."""
        return self.paint(printable(phase), PHASE_COLOURS.get(phase))


PLAIN: Final = Style(lambda text, _colour: text, UTC)
"""For a file: no colours, and times of day in UTC."""


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
