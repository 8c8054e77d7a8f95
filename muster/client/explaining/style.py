"""Style of the lines of an explanation: their colours, and their time zone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, tzinfo
from types import MappingProxyType
from typing import Final

from muster.api.values.printable import printable

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
