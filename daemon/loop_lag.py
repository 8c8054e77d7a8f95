"""The event loop's own pulse: how late it runs. A daemon that lags must not blame a coordinator for being slow."""

import asyncio
from collections.abc import Callable

BEAT = 0.5


class LoopLagMonitor:
    """``run`` is the task that beats; ``lag`` is how late the latest beat came, or the running one is, in seconds."""

    def __init__(self, observe: Callable[[float], None]) -> None:
        self._observe = observe
        self._late = 0.0
        self._due = 0.0

    async def run(self) -> None:
        """Beat until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            self._due = loop.time() + BEAT
            await asyncio.sleep(BEAT)
            self._late = max(0.0, loop.time() - self._due)
            self._observe(self._late)

    @property
    def lag(self) -> float:
        """Seconds of lateness."""
        if not self._due:
            return 0.0
        return max(self._late, asyncio.get_running_loop().time() - self._due)
