"""The cluster's state in memory and on disk: collections of stored objects under one version counter.

It knows how to write and find, and nothing of what a write means; that is the object store's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from muster.local.apiserver.storage.database import Database
from muster.local.apiserver.storage.stored_objects import Change, Json, Storage, Stored, record
from muster.local.apiserver.storage.watch_history import Journal

Key = tuple[Storage, str, str]
Selectable = Callable[[Storage], tuple[str, ...]]


class Ledger:
    """`selectable` tells which fields of a resource are kept findable; `history` bounds each resource's journal."""

    def __init__(
        self, database: Database, selectable: Selectable, *, history: int = 4096, history_bytes: int = 16 << 20
    ) -> None:
        self._database = database
        self._selectable = selectable
        self._history = history
        self._history_bytes = history_bytes
        self._collections: dict[Storage, dict[str, dict[str, Stored]]] = {}
        self._journals: dict[Storage, Journal] = {}
        self._uids: dict[str, Key] = {}
        self._dependents: dict[str, set[Key]] = {}
        self.version = 1
        self._base = 1
        self.listeners: list[Callable[[Change], None]] = []

    def load(self) -> Iterator[Stored]:
        """Reads everything from disk; yields each object as it is put in place."""
        newest, rows = self._database.load()
        self.version = self._base = max(newest, 1)
        for key, version, data in rows:
            try:
                group, plural, namespace, name = key.split("/")
                bare = Stored((group, plural), namespace, name, "", version, {}, {}, (), False, data)
                stored = record(bare.storage, bare.object(), version, self._selectable(bare.storage))
            except (ValueError, KeyError, TypeError, AttributeError) as failure:
                raise ValueError(
                    f"the cluster's database holds an object that cannot be read ({key}: {failure}); move the file away"
                ) from failure
            self._place(stored)
            yield stored

    def reindex(self, storage: Storage) -> None:
        """Recomputes the findable fields of a resource after they were declared anew."""
        for stored in self.scan(storage):
            self._place(record(storage, stored.object(), stored.version, self._selectable(storage)))

    def lookup(self, storage: Storage, namespace: str, name: str) -> Stored | None:
        """One object."""
        return self._collections.get(storage, {}).get(namespace, {}).get(name)

    def scan(self, storage: Storage, namespace: str = "") -> list[Stored]:
        """All objects of a resource (in one namespace, if named), ordered by namespace and name."""
        spaces = self._collections.get(storage, {})
        if namespace:
            own = spaces.get(namespace, {})
            return [own[name] for name in sorted(own)]
        return [spaces[space][name] for space in sorted(spaces) for name in sorted(spaces[space])]

    def storages(self) -> list[Storage]:
        """Every resource that has objects."""
        return [storage for storage, spaces in self._collections.items() if any(spaces.values())]

    def by_uid(self, uid: str) -> Stored | None:
        """The object with this uid."""
        key = self._uids.get(uid)
        return None if key is None else self.lookup(*key)

    def dependents(self, uid: str) -> list[Stored]:
        """The objects that name this uid as an owner."""
        found = (self.lookup(*key) for key in sorted(self._dependents.get(uid, ())))
        return [stored for stored in found if stored is not None]

    def journal(self, storage: Storage) -> Journal:
        """The recent changes of a resource."""
        journal = self._journals.get(storage)
        if journal is None:
            # A journal is made at the latest with its resource's first write, so it misses nothing since the start.
            journal = self._journals[storage] = Journal(self._base, self._history, self._history_bytes)
        return journal

    def journals(self) -> list[Journal]:
        """Every journal that exists."""
        return list(self._journals.values())

    def render(self, storage: Storage, obj: Json) -> Stored:
        """The kept form of an object under the present version, without keeping it (dry runs)."""
        return record(storage, obj, self.version, self._selectable(storage))

    def put(self, storage: Storage, obj: Json) -> Stored:
        """Writes an object under the next version."""
        journal = self.journal(storage)
        version = self.version + 1
        obj["metadata"]["resourceVersion"] = str(version)
        stored = record(storage, obj, version, self._selectable(storage))
        self._database.put(_key(stored), version, stored.data)
        previous = self.lookup(storage, stored.namespace, stored.name)
        self.version = version
        if previous is not None:
            self._unlink(previous)
        self._place(stored)
        self._publish(journal, Change("ADDED" if previous is None else "MODIFIED", stored, previous))
        return stored

    def drop(self, stored: Stored, final: Json) -> Stored:
        """Removes an object; `final` is its last state as watchers are to see it."""
        journal = self.journal(stored.storage)
        version = self.version + 1
        final["metadata"]["resourceVersion"] = str(version)
        last = record(stored.storage, final, version, self._selectable(stored.storage))
        self._database.drop(_key(stored), version)
        self.version = version
        self._unlink(stored)
        del self._collections[stored.storage][stored.namespace][stored.name]
        self._publish(journal, Change("DELETED", last, stored))
        return last

    def _publish(self, journal: Journal, change: Change) -> None:
        journal.append(change)
        for listener in self.listeners:
            listener(change)

    def _place(self, stored: Stored) -> None:
        key = (stored.storage, stored.namespace, stored.name)
        self._collections.setdefault(stored.storage, {}).setdefault(stored.namespace, {})[stored.name] = stored
        self._uids[stored.uid] = key
        for owner in stored.owners:
            self._dependents.setdefault(owner, set()).add(key)

    def _unlink(self, stored: Stored) -> None:
        key = (stored.storage, stored.namespace, stored.name)
        self._uids.pop(stored.uid, None)
        for owner in stored.owners:
            siblings = self._dependents.get(owner)
            if siblings is not None:
                siblings.discard(key)
                if not siblings:
                    del self._dependents[owner]


def _key(stored: Stored) -> str:
    return "/".join((*stored.storage, stored.namespace, stored.name))
