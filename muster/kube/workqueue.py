"""One queue for all experiments, in which each experiment stands at most once.

A key that is added while it waits is not added again; a key that is added while it is being worked on is worked on
once more afterwards, never twice at the same time (client-go's workqueue has the same rule: util/workqueue/queue.go).
A key may also ask to be added later; the earliest such wish wins. A key whose work failed comes back after a back-off
of its own, so that one poisoned experiment costs the others nothing but its turns.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from muster.kube.backoff import Backoff

FIRST_RETRY = 0.05
LAST_RETRY = 60.0


class WorkQueue:
    """Keys that wait for a worker. Time is the running loop's."""

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
        """Have the key worked on soon."""
        if key in self._busy:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting[key] = asyncio.get_running_loop().time()
            self._wake_one()

    def add_in(self, key: str, seconds: float) -> None:
        """Have the key worked on in that many seconds, unless that will happen sooner anyway."""
        loop = asyncio.get_running_loop()
        due = loop.time() + max(seconds, 0.0)
        timer = self._timers.get(key)
        if timer is not None and timer.when() <= due:
            return
        if timer is not None:
            timer.cancel()
        self._timers[key] = loop.call_at(due, self._ring, key)

    def forget(self, key: str) -> None:
        """The key's object is gone: no wish of it is left."""
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
        """Work on keys for ever, one at a time.

        ``failed`` is told of every error and may answer with the seconds to wait; otherwise the wait doubles with
        each failure in a row. Several workers may run side by side.
        """
        while True:
            key = await self._take()
            try:
                await do(key)
            except asyncio.CancelledError:
                raise
            except Exception as error:  # noqa: BLE001 - no error of one experiment may leave its key
                asked = failed(key, error)
                own = self._failures.setdefault(key, Backoff(FIRST_RETRY, LAST_RETRY)).delay()
                self.add_in(key, own if asked is None else asked)
            else:
                self._failures.pop(key, None)
            finally:
                self._done(key)

    async def _take(self) -> str:
        while not self._waiting:
            called = asyncio.get_running_loop().create_future()
            self._idle.append(called)
            try:
                await called
            except asyncio.CancelledError:
                if not called.cancelled():  # called and cancelled at once: somebody else has to come
                    self._wake_one()
                raise
        key = next(iter(self._waiting))
        since = self._waiting.pop(key)
        self._busy.add(key)
        self._observe_wait(asyncio.get_running_loop().time() - since)
        return key

    def _wake_one(self) -> None:
        """Wake one worker that has nothing to do. One key is work for one; to wake all costs each of them a turn."""
        while self._idle:
            called = self._idle.popleft()
            if not called.done():
                called.set_result(None)
                return

    def _done(self, key: str) -> None:
        self._busy.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def _ring(self, key: str) -> None:
        self._timers.pop(key, None)
        self.add(key)
