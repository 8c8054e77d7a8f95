"""An event loop on daemon time: the CPU time of the process, plus the length of every sleep.

The loop does not sleep: it skips each sleep and adds its length to the clock. What else passes between two instants is
the CPU time of the program. A latency on this clock is therefore what the daemon would show on a core of its own,
however busy the machine is, and an hour passes in a second. Only for worlds in memory: without work and without a timer
the loop raises an error instead of hanging.
"""

import asyncio
import selectors
import time


class _Skipping(selectors.SelectSelector):
    """A selector that does not wait, and adds up how long it would have waited."""

    skipped = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if not found:
            if timeout is None:
                raise RuntimeError("every task waits, and no timer is set")
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
