"""The wall clock, and its steps.

A step is a change of the wall clock against the seconds since boot, which are never set and count while the machine
is suspended. NTP slews a clock by at most 500 ppm (adjtimex(2)), far below ``STEP`` between two readings.
"""

from collections.abc import Callable

STEP = 2.0
"""Seconds of difference between two readings that are a step."""
APART = 0.1
"""Seconds between the reading of both clocks from which the pair says nothing: the process was not running between."""
TICK = 5.0
"""Seconds between readings of a daemon that is at rest."""


class WallClock:
    """Call it for wall seconds since 1970. It calls ``stepped`` with the seconds of each step, before it returns."""

    def __init__(
        self, wall: Callable[[], float], since_boot: Callable[[], float], stepped: Callable[[float], None]
    ) -> None:
        self._wall = wall
        self._since_boot = since_boot
        self._stepped = stepped
        self._ahead: float | None = None
        """The wall clock minus the seconds since boot, at the last reading."""

    def __call__(self) -> float:
        """Wall seconds since 1970."""
        before = self._since_boot()
        wall = self._wall()
        after = self._since_boot()
        if after - before > APART:
            return wall
        ahead, last = wall - before, self._ahead
        self._ahead = ahead
        if last is not None and abs(ahead - last) >= STEP:
            self._stepped(ahead - last)
        return wall
