"""Colors of states and of values, the same on all dashboards."""

from collections.abc import Sequence

GREEN, YELLOW, ORANGE, RED, BLUE, PURPLE, GREY = "green", "yellow", "orange", "red", "blue", "purple", "gray"
CYAN = "light-blue"
CALM = {GREEN, BLUE, CYAN, GREY}
"""Colors of what needs no attention."""

Steps = Sequence[tuple[float | None, str]]
"""Thresholds: each value at which a color begins. The first is None: for what is below the second, or has no data."""

PLAIN: Steps = ((None, BLUE),)
BAD_FROM_ONE: Steps = ((None, GREEN), (1, RED))
ODD_FROM_ONE: Steps = ((None, GREEN), (1, YELLOW))
GOODPUT: Steps = ((None, GREY), (0, RED), (0.5, YELLOW), (0.8, GREEN))
TIME_LEFT: Steps = ((None, GREY), (-1e9, RED), (300, ORANGE), (1800, GREEN))
TIME_STUCK: Steps = ((None, YELLOW), (300, ORANGE), (1800, RED))
STALENESS: Steps = ((None, GREEN), (100, YELLOW), (120, RED))

PHASES = {
    "Suspended": GREY,
    "Queued": CYAN,
    "Pending": YELLOW,
    "Assembling": ORANGE,
    "Running": GREEN,
    "Restarting": PURPLE,
    "Succeeded": BLUE,
    "Failed": RED,
}

COORDINATOR_STATES = {
    "serving": GREEN,
    "refused": YELLOW,
    "timeout": ORANGE,
    "silent": RED,
    "tls": PURPLE,
    "other-protocol": GREY,
}
