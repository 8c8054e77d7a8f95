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
        """Collect after a deletion, and after the creation of an object whose owner is gone already."""
        if change.kind == "DELETED" and change.resource == self.world.operator.subject.plural:
            self.world.later(COLLECT, self._collect, change.after["metadata"]["uid"])
        elif change.kind == "ADDED":
            self._orphaned(change.after)

    def _orphaned(self, obj: Object) -> None:
        for owner in obj["metadata"].get("ownerReferences", ()):
            if all(each["metadata"]["uid"] != owner["uid"] for each in self.world.experiments()):
                self.world.later(COLLECT, self._collect, owner["uid"])

    def _collect(self, uid: str) -> None:
        api = self.world.api
        for path, obj in list(api.objects.items()):
            if any(owner["uid"] == uid for owner in obj["metadata"].get("ownerReferences", ())):
                api.delete(path)
