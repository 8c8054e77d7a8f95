"""The recent changes of one resource, from which watches read (kube-apiserver: storage/cacher/watch_cache.go).

A watcher holds a position and has no queue, so a slow one costs no memory and delays no other. When its position has
been dropped, it gets 410 Expired. The history is in memory only: versions from before a restart are expired.
"""

from __future__ import annotations

import asyncio
from collections import deque
from itertools import islice

from muster.local.apiserver.errors import expired
from muster.local.apiserver.storage.stored_objects import Change


class WatchHistory:
    """A bounded log of changes. `base` is the version it starts after; changes up to it cannot be replayed."""

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
        """The highest version that cannot be replayed any more; a watch may start from it or a later one."""
        return self._compacted

    def append(self, change: Change) -> None:
        """Add a change, drop the oldest ones beyond the limits, and wake every watcher."""
        self._changes.append(change)
        self._bytes += len(change.current.data)
        while len(self._changes) > self._capacity or (self._bytes > self._capacity_bytes and len(self._changes) > 1):
            oldest = self._changes.popleft()
            self._first += 1
            self._bytes -= len(oldest.current.data)
            self._compacted = oldest.current.version
        self.wake_watchers()

    def wake_watchers(self) -> None:
        """Wake every watcher."""
        for wakeup in self._wakeups:
            wakeup.set()

    def position(self, version: int) -> int:
        """The position of the first change after a version; ApiError 410 if it has been dropped."""
        if version < self._compacted:
            raise expired(version, self._compacted)
        index = len(self._changes)
        while index and self._changes[index - 1].current.version > version:
            index -= 1
        return self._first + index

    def read(self, position: int, limit: int = 256) -> list[Change]:
        """Changes from a position on; ApiError 410 if it has been dropped."""
        if position < self._first:
            raise expired(position, self._first)
        start = position - self._first
        return list(islice(self._changes, start, start + limit))

    def add_watcher(self, wakeup: asyncio.Event) -> None:
        """Set this event at every change, until `remove_watcher`."""
        self._wakeups.add(wakeup)

    def remove_watcher(self, wakeup: asyncio.Event) -> None:
        """Stop setting this event."""
        self._wakeups.discard(wakeup)
