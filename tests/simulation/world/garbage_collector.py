"""The garbage collector: deletes the dependents of a deleted Experiment."""

from typing import TYPE_CHECKING

from tests.fakes.history import Change, Object

if TYPE_CHECKING:
    from tests.simulation.world.world import World

COLLECT = 0.5
"""Seconds from the deletion of an owner to that of its dependents."""


class GarbageCollector:
    """Deletes objects whose owner is a deleted Experiment."""

    def __init__(self, world: "World") -> None:
        self.world = world

    def changed(self, change: Change) -> None:
        """Collect after a deletion, and where an object comes to have an owner that is gone already."""
        if change.kind == "DELETED" and change.resource == self.world.operator.subject.plural:
            self.world.later(COLLECT, self._collect, change.after["metadata"]["uid"])
        elif change.kind == "ADDED" or (change.before is not None and _owners(change.before) != _owners(change.after)):
            self._orphaned(change.after)

    def _orphaned(self, obj: Object) -> None:
        for owner in _owners(obj):
            if all(each["metadata"]["uid"] != owner["uid"] for each in self.world.experiments()):
                self.world.later(COLLECT, self._collect, owner["uid"])

    def _collect(self, uid: str) -> None:
        api = self.world.api
        for path, obj in list(api.objects.items()):
            if any(owner["uid"] == uid for owner in _owners(obj)):
                api.delete(path)


def _owners(obj: Object) -> list[Object]:
    owners: list[Object] = obj["metadata"].get("ownerReferences") or []
    return owners
