"""A queue of keys, in which each key waits at most once, and the back-off of what failed.

A key that is added while it waits is not added again; a key that is added while it is processed is processed once more
afterwards, never twice at the same time (client-go has the same rule: util/workqueue/queue.go). A key may also be added
with a delay; the earliest due time wins. A key whose work failed is retried after a back-off of its own, so that one
object that always fails does not delay the others.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from math import inf
from random import Random
from typing import Any


@dataclass(slots=True)
class Backoff:
    """Delays in seconds, from ``first`` to ``longest``, twice as long after each failure.

    The one back-off of the project, for watches, log streams and work queues; each states its own times. With
    ``random`` a delay is spread over its upper half, so that the clients of a restarted API server do not all come back
    at once. ``reset_after`` seconds without a failure start it again from ``first``, as ``reset`` does at once.
    """

    first: float
    longest: float
    random: Random | None = None
    reset_after: float = inf
    _next: float = field(default=0.0, init=False)
    _failed_at: float = field(default=-inf, init=False)

    def delay(self, now: float = 0.0) -> float:
        """Return the wait after a failure at ``now`` (any monotonic clock), never more than ``longest``."""
        quiet = now - self._failed_at > self.reset_after
        base = self.first if quiet or not self._next else self._next
        self._next = min(base * 2, self.longest)
        self._failed_at = now
        return base * self.random.uniform(0.5, 1.0) if self.random is not None else base

    def reset(self) -> None:
        """Start again from ``first``."""
        self._next = 0.0


log = logging.getLogger("muster.kube")

FIRST_RETRY = 0.05
LAST_RETRY = 60.0
SLICE = 0.01
"""Seconds after which a long row of keys lets other tasks run, above all the readers of watches."""

Step = Callable[[str], Coroutine[Any, Any, None] | None]
"""The first part of the work on a key; it returns the part that has to wait, if there is one."""


class WorkQueue:
    """Keys that wait to be processed. Time is that of the running loop."""

    def __init__(self, observe_wait: Callable[[float], None] = lambda _seconds: None) -> None:
        self._waiting: dict[str, float] = {}
        self._busy: set[str] = set()
        self._again: set[str] = set()
        self._timers: dict[str, tuple[float, asyncio.Handle]] = {}
        """The due time of a key and the handle that adds it. uvloop's handle of a past time does not know the time."""
        self._failures: dict[str, Backoff] = {}
        self._some = asyncio.Event()
        """Set when a key is added."""
        self._observe_wait = observe_wait

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, key: str) -> None:
        """Process the key soon."""
        if key in self._busy:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting[key] = asyncio.get_running_loop().time()
            self._some.set()

    def add_in(self, key: str, seconds: float) -> None:
        """Process the key in that many seconds, unless it is due sooner anyway."""
        loop = asyncio.get_running_loop()
        due = loop.time() + max(seconds, 0.0)
        if timer := self._timers.get(key):
            before, handle = timer
            if before <= due:
                return
            handle.cancel()
        self._timers[key] = due, loop.call_at(due, self._ring, key)

    def forget(self, key: str) -> None:
        """Drop the key with its delay and its back-off, because its object is gone."""
        self._waiting.pop(key, None)
        self._again.discard(key)
        self._failures.pop(key, None)
        if timer := self._timers.pop(key, None):
            timer[1].cancel()

    def close(self) -> None:
        """Cancel all timers."""
        for _, handle in self._timers.values():
            handle.cancel()
        self._timers.clear()

    async def run(self, step: Step, failed: Callable[[str, Exception], float | None]) -> None:
        """Process keys until cancelled, in the order in which they were added.

        ``step`` decides at once, and returns the remaining work, if any: it runs in a task of its own, named after the
        key, while other keys are processed. So a key whose work takes long delays no other one. When this is cancelled,
        those tasks are cancelled and awaited.

        ``failed`` is called with every error and may return the seconds to wait; otherwise the wait doubles with each
        failure in a row.
        """
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as tasks:
            began = loop.time()
            while True:
                key = await self._take()
                rest = self._begin(key, step, failed)
                if rest is not None:
                    task = tasks.create_task(self._finish(key, rest, failed), name=f"step {key}")
                    task.add_done_callback(partial(self._ended, key, rest))
                if self._waiting and loop.time() - began > SLICE:
                    await asyncio.sleep(0)
                    began = loop.time()

    def _begin(
        self, key: str, step: Step, failed: Callable[[str, Exception], float | None]
    ) -> Coroutine[Any, Any, None] | None:
        try:
            rest = step(key)
        except Exception as error:  # noqa: BLE001 - no error of one object may leave its key
            self._fail(key, error, failed)
        else:
            if rest is not None:
                return rest
            self._failures.pop(key, None)
        self._done(key)
        return None

    async def _finish(
        self, key: str, rest: Coroutine[Any, Any, None], failed: Callable[[str, Exception], float | None]
    ) -> None:
        try:
            await rest
        except Exception as error:  # noqa: BLE001 - no error of one object may leave its key
            self._fail(key, error, failed)
        else:
            self._failures.pop(key, None)

    def _ended(self, key: str, rest: Coroutine[Any, Any, None], _task: asyncio.Task[None]) -> None:
        """Note the end of the key's task, which perhaps never ran."""
        rest.close()
        self._done(key)

    def _fail(self, key: str, error: Exception, failed: Callable[[str, Exception], float | None]) -> None:
        asked = None
        try:
            asked = failed(key, error)
        except Exception:
            log.exception("the failure of %s could not be reported", key)
        own = self._failures.setdefault(key, Backoff(FIRST_RETRY, LAST_RETRY)).delay()
        self.add_in(key, own if asked is None else asked)

    async def _take(self) -> str:
        while not self._waiting:
            self._some.clear()
            await self._some.wait()
        key = next(iter(self._waiting))
        since = self._waiting.pop(key)
        self._busy.add(key)
        self._observe_wait(asyncio.get_running_loop().time() - since)
        return key

    def _done(self, key: str) -> None:
        self._busy.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def _ring(self, key: str) -> None:
        self._timers.pop(key, None)
        self.add(key)
