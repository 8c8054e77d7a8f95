"""How late the event loop runs. A daemon that lags must not call a coordinator slow."""

import asyncio
from collections.abc import Callable

TICK = 0.5


class LoopLagMonitor:
    """``run`` is the measuring task; ``lag`` is how late its last tick came, or the present one is, in seconds."""

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
        """Seconds of lateness."""
        if not self._due:
            return 0.0
        return max(self._late, asyncio.get_running_loop().time() - self._due)
