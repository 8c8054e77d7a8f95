"""All objects, in memory and on disk, with one version counter (the resourceVersion) and a watch history per resource.

This is the part that etcd has in a real cluster: it writes and finds objects, and knows no rules of Kubernetes. The
object store has those. Watches read the recent changes of one resource (kube-apiserver: storage/cacher/watch_cache.go).
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice

import msgspec

from muster.local.apiserver.errors import expired
from muster.local.apiserver.storage.database import Database, Unusable
from muster.local.apiserver.storage.stored_objects import Change, GroupResource, Json, StoredObject, to_stored

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
            raise expired(version, self.compacted)
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


Key = tuple[GroupResource, str, str]


class VersionedStore:
    """`history` is how many changes of each resource a watch can replay."""

    def __init__(self, database: Database, *, history: int) -> None:
        self._database = database
        self._history_length = history
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
