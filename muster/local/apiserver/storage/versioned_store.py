"""All objects, in memory and on disk, with one version counter (the resourceVersion) and a watch history per resource.

This is the part that etcd has in a real cluster: it writes and finds objects, and knows no rules of Kubernetes. The
object store has those. Watches read the recent changes of one resource (kube-apiserver: storage/cacher/watch_cache.go).
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice

from muster.local.apiserver.errors import expired
from muster.local.apiserver.storage.database import Database, Unusable
from muster.local.apiserver.storage.stored_objects import Change, GroupResource, Json, StoredObject, to_stored


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
        """Return the position after the newest change."""
        return self._first + len(self._changes)

    @property
    def compacted(self) -> int:
        """Return the highest version that can no longer be replayed; a watch may start from it or a later one."""
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
        """Return the position of the first change after a version; ApiError 410 if it has been dropped."""
        if version < self._compacted:
            raise expired(version, self._compacted)
        index = len(self._changes)
        while index and self._changes[index - 1].current.version > version:
            index -= 1
        return self._first + index

    def read(self, position: int, limit: int = 256) -> list[Change]:
        """Return changes from a position on; ApiError 410 if it has been dropped."""
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


Key = tuple[GroupResource, str, str]


class VersionedStore:
    """`history` and `history_bytes` limit the watch history of each resource."""

    def __init__(self, database: Database, *, history: int = 4096, history_bytes: int = 16 << 20) -> None:
        self._database = database
        self._history_length = history
        self._history_bytes = history_bytes
        self._collections: dict[GroupResource, dict[str, dict[str, StoredObject]]] = {}
        self._histories: dict[GroupResource, WatchHistory] = {}
        self._uids: dict[str, Key] = {}
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
                group, plural, namespace, name = key.split("/")
                bare = StoredObject((group, plural), namespace, name, "", version, {}, {}, (), False, data)
                stored = to_stored(bare.group_resource, bare.object(), version)
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
        key = self._uids.get(uid)
        return None if key is None else self.lookup(*key)

    def dependents(self, uid: str) -> list[StoredObject]:
        """Return the objects that name this uid as an owner."""
        found = (self.lookup(*key) for key in sorted(self._dependents.get(uid, ())))
        return [stored for stored in found if stored is not None]

    def history(self, group_resource: GroupResource) -> WatchHistory:
        """Return the watch history of a resource."""
        history = self._histories.get(group_resource)
        if history is None:
            # Created at the latest with the first write of its resource, so it has every change since the start.
            history = self._histories[group_resource] = WatchHistory(
                self._base, self._history_length, self._history_bytes
            )
        return history

    def histories(self) -> list[WatchHistory]:
        """Return every watch history that exists."""
        return list(self._histories.values())

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
        self._uids[stored.uid] = key
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
