"""All objects, in memory and on disk, with one version counter (the resourceVersion) and a watch history per resource.

This is the part that etcd has in a real cluster: it writes and finds objects, and knows no rules of Kubernetes. The
object store has those. Watches read the recent changes of one resource (kube-apiserver: storage/cacher/watch_cache.go).
"""

import asyncio
import contextlib
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import msgspec

from muster.api.errors import MusterError
from muster.local.apiserver.errors import ApiError, expired
from muster.local.apiserver.storage.stored_objects import Change, GroupResource, Json, StoredObject, to_stored

_COUNTER = "counter"
_PUT = "INSERT OR REPLACE INTO objects VALUES (?, ?, ?)"


class Unusable(MusterError, ValueError):
    """The file cannot be read as the cluster's database."""


class Database:
    """Maps a key to a version and JSON bytes, in a file or, if `path` is None, in memory.

    It is one SQLite table, written on every change and read once, at the start. WAL mode with synchronous=NORMAL loses
    nothing when the process is killed. A power failure may lose the last writes; the file then holds a consistent
    earlier state.

    `failed` is called with the reason when a write fails: a cluster whose disk is full must not continue.
    """

    def __init__(self, path: Path | None, failed: Callable[[str], None] = lambda _why: None) -> None:
        self._closed = False
        self._path = path
        self._failed = failed
        self._connection = sqlite3.connect(path or ":memory:", check_same_thread=False, timeout=0.5)
        try:
            # One server per file: two would assign the same versions, each from its own counter.
            self._connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS objects"
                " (key TEXT PRIMARY KEY, version INTEGER NOT NULL, data BLOB NOT NULL)"
            )
        except sqlite3.DatabaseError as failure:
            self._connection.close()
            raise self._unusable(failure) from failure

    def load(self) -> tuple[int, list[tuple[str, int, bytes]]]:
        """Return the highest version ever assigned, and every object as (key, version, data)."""
        newest = 0
        rows: list[tuple[str, int, bytes]] = []
        try:
            for key, version, data in self._connection.execute("SELECT key, version, data FROM objects"):
                newest = max(newest, version)
                if key != _COUNTER:
                    rows.append((key, version, bytes(data)))
        except (sqlite3.DatabaseError, TypeError) as failure:
            raise self._unusable(failure) from failure
        return newest, rows

    def put(self, key: str, version: int, data: bytes) -> None:
        """Write an object."""
        with self._writing() as connection:
            connection.execute(_PUT, (key, version, data))

    def drop(self, key: str, version: int) -> None:
        """Remove an object, and store the version of the removal."""
        with self._writing() as connection:
            connection.execute("DELETE FROM objects WHERE key = ?", (key,))
            connection.execute(_PUT, (_COUNTER, version, b"{}"))

    def close(self) -> None:
        """Close the file; SQLite merges the write-ahead log into it."""
        self._closed = True
        self._connection.close()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Write in one transaction. Report a write that fails; the request gets status 500 with the reason."""
        if self._closed:
            raise RuntimeError("the API server has been stopped; nothing can be written")
        try:
            with self._connection:
                yield self._connection
        except sqlite3.Error as failure:
            why = f"{self._path} cannot be written: {failure}"
            self._failed(why)
            raise ApiError(500, "InternalError", why) from failure

    def _unusable(self, failure: Exception) -> Unusable:
        return Unusable(
            f"{self._path} cannot be used as the cluster's database ({failure}); "
            "stop the local cluster that uses it, name another file, or move this one away"
        )


HISTORY_BYTES = 16 << 20
"""Most bytes of the watch history of a resource."""


class WatchHistory:
    """A bounded log of changes.

    The events of `watchers` are set at every change. `compacted` is the highest version that can no longer be
    replayed, at first `base`: a watch may start from it or a later one.
    """

    def __init__(self, base: int, capacity: int) -> None:
        self.compacted = base
        self.watchers: set[asyncio.Event] = set()
        self._changes: deque[Change] = deque()
        self._first = 0
        self._bytes = 0
        self._capacity = capacity

    @property
    def end(self) -> int:
        """Return the position after the newest change."""
        return self._first + len(self._changes)

    def append(self, change: Change) -> None:
        """Add a change, drop the oldest ones beyond the limits, and wake every watcher."""
        self._changes.append(change)
        self._bytes += len(change.current.data)
        while len(self._changes) > self._capacity or (self._bytes > HISTORY_BYTES and len(self._changes) > 1):
            oldest = self._changes.popleft()
            self._first += 1
            self._bytes -= len(oldest.current.data)
            self.compacted = oldest.current.version
        self.wake_watchers()

    def wake_watchers(self) -> None:
        """Wake every watcher."""
        for wakeup in self.watchers:
            wakeup.set()

    def position(self, version: int) -> int:
        """Return the position of the first change after a version; ApiError 410 if it has been dropped."""
        if version < self.compacted:
            raise expired(f"too old resource version: {version} ({self.compacted})")
        index = len(self._changes)
        while index and self._changes[index - 1].current.version > version:
            index -= 1
        return self._first + index

    def read(self, position: int, limit: int = 256) -> list[Change]:
        """Return changes from a position on; ApiError 410 if it has been dropped."""
        if position < self._first:
            raise expired(f"the watch was too slow: changes up to resource version {self.compacted} are dropped")
        start = position - self._first
        return list(islice(self._changes, start, start + limit))


Key = tuple[GroupResource, str, str]


class VersionedStore:
    """`history` is how many changes of each resource a watch can replay."""

    def __init__(self, database: Database, *, history: int) -> None:
        self._database = database
        self._history_length = history
        self._collections: dict[GroupResource, dict[str, dict[str, StoredObject]]] = {}
        self._histories: dict[GroupResource, WatchHistory] = {}
        self._uids: dict[str, StoredObject] = {}
        self._dependents: dict[str, set[Key]] = {}
        self.version = 1
        self._base = 1
        self.listeners: list[Callable[[Change], None]] = []

    def load(self) -> Iterator[StoredObject]:
        """Read all objects from disk; yields each after adding it."""
        newest, rows = self._database.load()
        self.version = self._base = max(newest, 1)
        for key, version, data in rows:
            try:
                group, plural, _, _ = key.split("/")
                stored = to_stored((group, plural), msgspec.json.decode(data), version)
            except (ValueError, KeyError, TypeError, AttributeError) as failure:
                raise Unusable(
                    f"the cluster's database holds an object that cannot be read ({key}: {failure}); move the file away"
                ) from failure
            self._place(stored)
            yield stored

    def lookup(self, group_resource: GroupResource, namespace: str, name: str) -> StoredObject | None:
        """Return the object with this name; None if it does not exist."""
        return self._collections.get(group_resource, {}).get(namespace, {}).get(name)

    def scan(self, group_resource: GroupResource, namespace: str = "") -> list[StoredObject]:
        """Return all objects of a resource, in one namespace if it is given, ordered by namespace and name."""
        spaces = self._collections.get(group_resource, {})
        if namespace:
            own = spaces.get(namespace, {})
            return [own[name] for name in sorted(own)]
        return [spaces[space][name] for space in sorted(spaces) for name in sorted(spaces[space])]

    def group_resources(self) -> list[GroupResource]:
        """Return every resource that has objects."""
        return [group_resource for group_resource, spaces in self._collections.items() if any(spaces.values())]

    def by_uid(self, uid: str) -> StoredObject | None:
        """Return the object with this uid."""
        return self._uids.get(uid)

    def dependents(self, uid: str) -> list[StoredObject]:
        """Return the objects that name this uid as an owner."""
        found = (self.lookup(*key) for key in sorted(self._dependents.get(uid, ())))
        return [stored for stored in found if stored is not None]

    def history(self, group_resource: GroupResource) -> WatchHistory:
        """Return the watch history of a resource."""
        history = self._histories.get(group_resource)
        if history is None:
            # Created at the latest with the first write of its resource, so it has every change since the start.
            history = self._histories[group_resource] = WatchHistory(self._base, self._history_length)
        return history

    def wake_watchers(self) -> None:
        """Wake every watcher of every resource."""
        for history in self._histories.values():
            history.wake_watchers()

    def render(self, group_resource: GroupResource, obj: Json) -> StoredObject:
        """Return the stored form of an object without storing it, for dry runs."""
        return to_stored(group_resource, obj, self.version)

    def put(self, group_resource: GroupResource, obj: Json) -> StoredObject:
        """Write an object with the next version."""
        history = self.history(group_resource)
        version = self.version + 1
        obj["metadata"]["resourceVersion"] = str(version)
        stored = to_stored(group_resource, obj, version)
        self._database.put(_key(stored), version, stored.data)
        previous = self.lookup(group_resource, stored.namespace, stored.name)
        self.version = version
        if previous is not None:
            self._unlink(previous)
        self._place(stored)
        self._publish(history, Change("ADDED" if previous is None else "MODIFIED", stored, previous))
        return stored

    def drop(self, stored: StoredObject, final: Json) -> StoredObject:
        """Remove an object; `final` is the last state that watches report."""
        history = self.history(stored.group_resource)
        version = self.version + 1
        final["metadata"]["resourceVersion"] = str(version)
        last = to_stored(stored.group_resource, final, version)
        self._database.drop(_key(stored), version)
        self.version = version
        self._unlink(stored)
        del self._collections[stored.group_resource][stored.namespace][stored.name]
        self._publish(history, Change("DELETED", last, stored))
        return last

    def _publish(self, history: WatchHistory, change: Change) -> None:
        history.append(change)
        for listener in self.listeners:
            listener(change)

    def _place(self, stored: StoredObject) -> None:
        key = (stored.group_resource, stored.namespace, stored.name)
        self._collections.setdefault(stored.group_resource, {}).setdefault(stored.namespace, {})[stored.name] = stored
        self._uids[stored.uid] = stored
        for owner in stored.owners:
            self._dependents.setdefault(owner, set()).add(key)

    def _unlink(self, stored: StoredObject) -> None:
        key = (stored.group_resource, stored.namespace, stored.name)
        self._uids.pop(stored.uid, None)
        for owner in stored.owners:
            siblings = self._dependents.get(owner)
            if siblings is not None:
                siblings.discard(key)
                if not siblings:
                    del self._dependents[owner]


def _key(stored: StoredObject) -> str:
    return "/".join((*stored.group_resource, stored.namespace, stored.name))
