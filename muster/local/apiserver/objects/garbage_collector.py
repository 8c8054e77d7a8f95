"""Deletes what depends on a deleted object: dependents of an owner, contents of a namespace, objects of a CRD.

One task, woken by changes, works through a queue of uids; nothing is polled. It also deletes events after an hour.
Rules from the Kubernetes documentation ("Garbage collection") and kubernetes pkg/controller/garbagecollector.
"""

import asyncio
from collections import deque
from collections.abc import Callable

import structlog

from muster.local.apiserver.errors import ApiError
from muster.local.apiserver.objects.object_store import CLEANUP, CONTENTS, ORPHAN, ObjectStore
from muster.local.apiserver.objects.write_preparation import DeleteOptions
from muster.local.apiserver.schema import CRD_RESOURCE
from muster.local.apiserver.storage.stored_objects import Change, GroupResource, Json, StoredObject

_NAMESPACES: GroupResource = ("", "namespaces")
_EVENTS: GroupResource = ("", "events")
EVENT_SECONDS = 3600.0
"""Time to live of an Event; the default of kube-apiserver's --event-ttl."""
_log = structlog.get_logger(__name__)


class GarbageCollector:
    """Collects garbage while `run` runs; the API server owns that task."""

    def __init__(self, store: ObjectStore, clock: Callable[[], float]) -> None:
        self._store = store
        self._versions = store.versions
        self._queue: dict[str, None] = {}
        self._wakeup = asyncio.Event()
        self._clock = clock
        self._events: deque[tuple[float, str]] = deque()
        store.versions.listeners.append(self.on_change)

    def on_change(self, change: Change) -> None:
        """Queue the objects that this change may have made garbage."""
        current = change.current
        if current.group_resource == _EVENTS and change.kind == "ADDED":
            self._age_events(current)
        if change.kind == "DELETED":
            for dependent in self._versions.dependents(current.uid):
                self._enqueue(dependent.uid)
            for owner in current.owners:
                self._enqueue_if_terminating(self._versions.by_uid(owner))
            if current.namespace:
                self._enqueue_if_terminating(self._versions.lookup(_NAMESPACES, "", current.namespace))
            home = self._store.registry.home(current.group_resource)
            if home is not None and home.custom is not None:
                self._enqueue_if_terminating(self._versions.lookup(CRD_RESOURCE, "", home.qualified))
        elif current.terminating or (current.owners and (change.kind == "ADDED" or self._owners_changed(change))):
            self._enqueue(current.uid)

    def enqueue_leftovers(self) -> None:
        """Queue everything that an earlier run of the server may have left to do."""
        for group_resource in self._versions.group_resources():
            for stored in self._versions.scan(group_resource):
                if stored.terminating or stored.owners:
                    self._enqueue(stored.uid)
        for stored in sorted(self._versions.scan(_EVENTS), key=lambda s: s.version):
            self._age_events(stored)

    async def run(self) -> None:
        """Work through the queue until cancelled. Yields between items, so that a large cascade delays no request."""
        while True:
            await self._wakeup.wait()
            self._wakeup.clear()
            while self._queue:
                uid = next(iter(self._queue))
                del self._queue[uid]
                self._collect(uid)
                await asyncio.sleep(0)

    def _collect(self, uid: str) -> None:
        stored = self._versions.by_uid(uid)
        if stored is None:
            return
        try:
            if stored.terminating:
                self._finish_deletion(stored)
            elif stored.group_resource == _EVENTS:
                self._delete(stored)
            elif stored.owners:
                self._collect_dependent(stored)
        except ApiError as failure:
            # A concurrent write won. It queued the object again if there is still something to do.
            _log.warning(
                "garbage.refused",
                object=f"{stored.group_resource[1]}/{stored.namespace}/{stored.name}",
                why=str(failure),
            )

    def _finish_deletion(self, stored: StoredObject) -> None:
        finalizers: list[str] = stored.object()["metadata"].get("finalizers") or []
        if CONTENTS in finalizers or CLEANUP in finalizers:
            for each in self._contents(stored):
                if not each.terminating:
                    self._delete(each)
            if not self._contents(stored):
                self._finalize(stored, CONTENTS if CONTENTS in finalizers else CLEANUP)
        elif ORPHAN in finalizers:
            for dependent in self._versions.dependents(stored.uid):
                self._remove_owner_references(dependent, {stored.uid})
            self._finalize(stored, ORPHAN)

    def _contents(self, stored: StoredObject) -> list[StoredObject]:
        """Return the objects in a namespace, or those of a CRD."""
        if stored.group_resource == CRD_RESOURCE:
            spec = stored.object()["spec"]
            return self._versions.scan((spec["group"], spec["names"]["plural"]))
        every = (self._versions.scan(each, stored.name) for each in self._versions.group_resources())
        return [inside for found in every for inside in found]

    def _collect_dependent(self, stored: StoredObject) -> None:
        """Delete an object that has no owner left; else remove its references to owners that do not exist."""
        gone = {uid for uid in stored.owners if self._versions.by_uid(uid) is None}
        if gone == set(stored.owners):
            self._delete(stored)
        elif gone:
            self._remove_owner_references(stored, gone)

    def _remove_owner_references(self, stored: StoredObject, uids: set[str]) -> None:
        resource = self._store.registry.home(stored.group_resource)
        if resource is None:
            return

        def without(obj: Json) -> Json:
            references = [r for r in obj["metadata"].get("ownerReferences") or () if r.get("uid") not in uids]
            return {**obj, "metadata": {**obj["metadata"], "ownerReferences": references}}

        self._store.patch(resource, stored.namespace, stored.name, without)

    def _delete(self, stored: StoredObject) -> None:
        resource = self._store.registry.home(stored.group_resource)
        if resource is not None:
            self._store.delete(resource, stored.namespace, stored.name, DeleteOptions(uid=stored.uid))

    def _finalize(self, stored: StoredObject, finalizer: str) -> None:
        resource = self._store.registry.home(stored.group_resource)
        if resource is not None:
            self._store.finalize(resource, stored, finalizer)

    def _age_events(self, newest: StoredObject) -> None:
        """Queue the events that are older than their time to live. Runs for each new event, so it needs no timer."""
        now = self._clock()
        self._events.append((now, newest.uid))
        while self._events[0][0] < now - EVENT_SECONDS:
            self._enqueue(self._events.popleft()[1])

    def _owners_changed(self, change: Change) -> bool:
        return change.previous is None or change.previous.owners != change.current.owners

    def _enqueue_if_terminating(self, stored: StoredObject | None) -> None:
        if stored is not None and stored.terminating:
            self._enqueue(stored.uid)

    def _enqueue(self, uid: str) -> None:
        self._queue[uid] = None
        self._wakeup.set()
