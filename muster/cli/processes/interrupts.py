"""Ctrl-C, SIGTERM and a closed terminal as awaitable interruptions.

The first one asks the command to end, the second one not to wait.
"""

import asyncio
import signal
from typing import TypeVar

from muster.kube.cancellation import cancelling

T = TypeVar("T")

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Counts the signals that arrive while the context is open. Enter it inside a running event loop."""

    def __init__(self) -> None:
        self.count = 0
        self._arrived = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def __enter__(self) -> "Interrupts":
        for number in SIGNALS:
            self._loop.add_signal_handler(number, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        for number in SIGNALS:
            self._loop.remove_signal_handler(number)

    async def next(self) -> None:
        """Wait for a signal that has not been waited for yet."""
        await self._arrived.wait()
        self._arrived.clear()

    async def guard(self, work: asyncio.Task[T]) -> T | None:
        """Return the result of ``work``; None where a signal came first: then the work was cancelled and ended."""
        signalled = asyncio.create_task(self.next(), name="interrupt")
        async with cancelling(work, signalled):
            await asyncio.wait({work, signalled}, return_when=asyncio.FIRST_COMPLETED)
            return work.result() if work.done() else None

    def _take(self) -> None:
        self.count += 1
        self._arrived.set()
