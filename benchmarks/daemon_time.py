"""An event loop that tells daemon time: the CPU the process has used, plus the waits it has slept through.

Nobody waits for real: a sleep is skipped and counted, and what is left between two instants is what the program worked.
So a latency taken by this clock is what the daemon would show on a core of its own, however busy the machine is; and an
hour passes in a second. Only for worlds in memory: with nothing to do and no timer set it fails instead of hanging.
"""

import asyncio
import selectors
import time


class _Skipping(selectors.SelectSelector):
    """A selector that does not wait, but remembers for how long it should have."""

    skipped = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if not found:
            if timeout is None:
                raise RuntimeError("every task waits for something that will never happen")
            self.skipped += max(0.0, timeout)
        return found


class DaemonTime(asyncio.SelectorEventLoop):
    """See the module's docstring. For ``asyncio.Runner(loop_factory=DaemonTime)``."""

    def __init__(self) -> None:
        self._skipping = _Skipping()
        super().__init__(self._skipping)

    def time(self) -> float:
        """Seconds of daemon time."""
        return time.process_time() + self._skipping.skipped
