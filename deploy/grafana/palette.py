"""Colors of states and of values, the same on all dashboards."""

from collections.abc import Mapping, Sequence
from typing import Literal

Color = Literal["green", "yellow", "orange", "red", "blue", "light-blue", "purple", "gray", "transparent"]
CALM: frozenset[Color] = frozenset({"green", "blue", "light-blue", "gray"})
"""Colors of what needs no attention."""

Steps = Sequence[tuple[float | None, Color]]
"""Thresholds: each value at which a color begins. The first is None: for what is below the second, or has no data."""

PLAIN: Steps = ((None, "blue"),)
BAD_FROM_ONE: Steps = ((None, "green"), (1, "red"))
ODD_FROM_ONE: Steps = ((None, "green"), (1, "yellow"))
GOODPUT: Steps = ((None, "gray"), (0, "red"), (0.5, "yellow"), (0.8, "green"))
TIME_LEFT: Steps = ((None, "gray"), (-1e9, "red"), (300, "orange"), (1800, "green"))
TIME_STUCK: Steps = ((None, "yellow"), (300, "orange"), (1800, "red"))
STALENESS: Steps = ((None, "green"), (100, "yellow"), (120, "red"))

PHASES: Mapping[str, Color] = {
    "Suspended": "gray",
    "Queued": "light-blue",
    "Pending": "yellow",
    "Assembling": "orange",
    "Running": "green",
    "Restarting": "purple",
    "Succeeded": "blue",
    "Failed": "red",
}
COORDINATOR_STATES: Mapping[str, Color] = {
    "serving": "green",
    "refused": "yellow",
    "timeout": "orange",
    "silent": "red",
    "tls": "purple",
    "other-protocol": "gray",
}
