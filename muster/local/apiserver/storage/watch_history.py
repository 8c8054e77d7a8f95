"""The recent changes of one resource, and the bells of those who wait for the next.

A watcher holds a position, not a queue: a slow one costs nothing and delays nobody, and when the journal has moved past
its position it is told so and closed. History is memory only, so a version from before a restart is too old (410).
"""

from __future__ import annotations

import asyncio
from collections import deque
from itertools import islice

from muster.local.apiserver.errors import expired
from muster.local.apiserver.storage.stored_objects import Change


class WatchHistory:
    """A bounded log. `base` is the version at which it begins; nothing at or before it can be replayed."""

    def __init__(self, base: int, capacity: int, capacity_bytes: int) -> None:
        self._changes: deque[Change] = deque()
        self._first = 0
        self._bytes = 0
        self._capacity = capacity
        self._capacity_bytes = capacity_bytes
        self._compacted = base
        self._wakeups: set[asyncio.Event] = set()

    @property
    def end(self) -> int:
        """The position after the newest change."""
        return self._first + len(self._changes)

    @property
    def compacted(self) -> int:
        """The newest version that can no longer be replayed; a watch may start from here or later."""
        return self._compacted

    def append(self, change: Change) -> None:
        """Keeps a change, forgets the oldest beyond the bounds, and wakes every watcher."""
        self._changes.append(change)
        self._bytes += len(change.current.data)
        while len(self._changes) > self._capacity or (self._bytes > self._capacity_bytes and len(self._changes) > 1):
            oldest = self._changes.popleft()
            self._first += 1
            self._bytes -= len(oldest.current.data)
            self._compacted = oldest.current.version
        self.wake_watchers()

    def wake_watchers(self) -> None:
        """Wakes every watcher."""
        for wakeup in self._wakeups:
            wakeup.set()

    def position(self, version: int) -> int:
        """The position of the first change after a version; 410 Expired where that is forgotten."""
        if version < self._compacted:
            raise expired(version, self._compacted)
        index = len(self._changes)
        while index and self._changes[index - 1].current.version > version:
            index -= 1
        return self._first + index

    def read(self, position: int, limit: int = 256) -> list[Change]:
        """Changes from a position on; 410 Expired where the journal has moved past it."""
        if position < self._first:
            raise expired(position, self._first)
        start = position - self._first
        return list(islice(self._changes, start, start + limit))

    def listen(self, wakeup: asyncio.Event) -> None:
        """Rings this bell at every change until `forget`."""
        self._wakeups.add(wakeup)

    def forget(self, wakeup: asyncio.Event) -> None:
        """Stops ringing."""
        self._wakeups.discard(wakeup)
