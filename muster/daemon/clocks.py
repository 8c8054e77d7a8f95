"""The clocks of the daemon: how late its event loop runs, and the wall clock with its steps.

A daemon that lags must not call a coordinator slow. A step is a change of the wall clock against the seconds since
boot, which are never set and count while the machine is suspended. NTP slews a clock by at most 500 ppm (adjtimex(2)),
far below ``STEP`` between two readings.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

TICK = 0.5


class LoopLagMonitor:
    """The monitor of the event loop. ``run`` measures; ``lag`` is how late the last tick was, or the present one is."""

    def __init__(self, observe: Callable[[float], None]) -> None:
        self._observe = observe
        self._late = 0.0
        self._due = 0.0

    async def run(self) -> None:
        """Measure until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            self._due = loop.time() + TICK
            await asyncio.sleep(TICK)
            self._late = max(0.0, loop.time() - self._due)
            self._observe(self._late)

    @property
    def lag(self) -> float:
        """The lateness in seconds."""
        if not self._due:
            return 0.0
        return max(self._late, asyncio.get_running_loop().time() - self._due)


async def in_slices(items: Iterable[T], size: int) -> AsyncGenerator[T, None]:
    """Yield the items; other due tasks run after every ``size`` of them."""
    for number, each in enumerate(items, 1):
        yield each
        if number % size == 0:
            await asyncio.sleep(0)


STEP = 2.0
"""Seconds of difference between two readings that are a step."""
APART = 0.1
"""Seconds between two readings of the same clock from which the pair is ignored: the process was paused in between."""
READ_EVERY = 5.0
"""Seconds between readings of a daemon that is at rest."""


class WallClock:
    """The wall clock: call it for seconds since 1970. It calls ``stepped`` with the seconds of each step first."""

    def __init__(
        self, wall: Callable[[], float], since_boot: Callable[[], float], stepped: Callable[[float], None]
    ) -> None:
        self._wall = wall
        self._since_boot = since_boot
        self._stepped = stepped
        self._ahead: float | None = None
        """The wall clock minus the seconds since boot, at the last reading."""

    def __call__(self) -> float:
        """Return wall seconds since 1970."""
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
