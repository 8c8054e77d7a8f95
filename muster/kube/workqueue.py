"""A queue of keys, in which each key waits at most once.

A key that is added while it waits is not added again; a key that is added while it is processed is processed once more
afterwards, never twice at the same time (client-go has the same rule: util/workqueue/queue.go). A key may also be added
with a delay; the earliest due time wins. A key whose work failed is retried after a back-off of its own, so that one
object that always fails does not delay the others.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from muster.kube.backoff import Backoff

FIRST_RETRY = 0.05
LAST_RETRY = 60.0


class WorkQueue:
    """Keys that wait for a worker. Time is that of the running loop."""

    def __init__(self, observe_wait: Callable[[float], None] = lambda _seconds: None) -> None:
        self._waiting: dict[str, float] = {}
        self._busy: set[str] = set()
        self._again: set[str] = set()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._failures: dict[str, Backoff] = {}
        self._idle = deque[asyncio.Future[None]]()
        self._observe_wait = observe_wait

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, key: str) -> None:
        """Process the key as soon as a worker is free."""
        if key in self._busy:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting[key] = asyncio.get_running_loop().time()
            self._wake_one()

    def add_in(self, key: str, seconds: float) -> None:
        """Process the key in that many seconds, unless it is due sooner anyway."""
        loop = asyncio.get_running_loop()
        due = loop.time() + max(seconds, 0.0)
        timer = self._timers.get(key)
        if timer is not None and timer.when() <= due:
            return
        if timer is not None:
            timer.cancel()
        self._timers[key] = loop.call_at(due, self._ring, key)

    def forget(self, key: str) -> None:
        """Drop the key with its delay and its back-off: its object is gone."""
        self._waiting.pop(key, None)
        self._again.discard(key)
        self._failures.pop(key, None)
        if timer := self._timers.pop(key, None):
            timer.cancel()

    def close(self) -> None:
        """Cancel all timers."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    async def work(
        self, do: Callable[[str], Awaitable[None]], failed: Callable[[str, Exception], float | None]
    ) -> None:
        """Process keys until cancelled, one at a time. Several workers may run side by side.

        ``failed`` is called with every error and may return the seconds to wait; otherwise the wait doubles with each
        failure in a row.
        """
        while True:
            key = await self._take()
            try:
                await do(key)
            except asyncio.CancelledError:
                raise
            except Exception as error:  # noqa: BLE001 - no error of one object may leave its key
                asked = failed(key, error)
                own = self._failures.setdefault(key, Backoff(FIRST_RETRY, LAST_RETRY)).delay()
                self.add_in(key, own if asked is None else asked)
            else:
                self._failures.pop(key, None)
            finally:
                self._done(key)

    async def _take(self) -> str:
        while not self._waiting:
            woken = asyncio.get_running_loop().create_future()
            self._idle.append(woken)
            try:
                await woken
            except asyncio.CancelledError:
                if not woken.cancelled():  # woken and cancelled at once: wake another worker
                    self._wake_one()
                raise
        key = next(iter(self._waiting))
        since = self._waiting.pop(key)
        self._busy.add(key)
        self._observe_wait(asyncio.get_running_loop().time() - since)
        return key

    def _wake_one(self) -> None:
        """Wake one idle worker: one key is work for one, and to wake all costs each of them a turn."""
        while self._idle:
            woken = self._idle.popleft()
            if not woken.done():
                woken.set_result(None)
                return

    def _done(self, key: str) -> None:
        self._busy.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def _ring(self, key: str) -> None:
        self._timers.pop(key, None)
        self.add(key)
