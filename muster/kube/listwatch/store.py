"""One kind's objects as last seen, by uid.

A pod that was deleted and created again under its name is another pod. A cache keyed by name would merge the two, and
miss the deletion of the first.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import force_setattr

from muster.kube.listwatch.decoder import Tracked

T = TypeVar("T", bound=Tracked)


class Store(Generic[T]):
    """The receiver of one kind's objects, which keeps each of them and reports each difference once.

    It is called on the event loop, in order, with the newest resourceVersion known to be contained in what was received
    so far. No call blocks.

    ``on_change(old, new)`` is called after the change: ``old`` is None for a new object, ``new`` is None for one that
    is gone. An object with the stored resourceVersion is no difference. ``on_version(version)`` follows every
    step forward.
    """

    def __init__(
        self,
        on_change: Callable[[T | None, T | None], None] = lambda _old, _new: None,
        on_version: Callable[[int], None] = lambda _version: None,
        keep: Callable[[T], T] = lambda obj: obj,
        on_back: Callable[[int], None] = lambda _version: None,
        undone: Callable[[T, int], bool] = lambda _obj, _version: False,
    ) -> None:
        """``keep`` gives the stored part of an object; ``on_change`` gets the stored ``old`` and the whole ``new``.

        ``on_back`` is called before a list that is older than the store; every object of that list is a difference. It
        gets the version that other caches must reach before they are of that time, 0 if there is none. ``undone``
        returns True if an object in a list of that resourceVersion lacks a write of ours that was answered.
        """
        self.objects: dict[str, T] = {}
        self.version = 0
        self.synced = False
        self._on_change = on_change
        self._on_version = on_version
        self._keep = keep
        self._on_back = on_back
        self._undone = undone

    def __iter__(self) -> Iterator[T]:
        return iter(self.objects.values())

    def get(self, uid: str) -> T | None:
        """Return the object of that uid, if it exists."""
        return self.objects.get(uid)

    def replace(self, objects: Mapping[str, T], version: int) -> None:
        """Make ``objects``, by uid, everything that exists; an object that was not listed counts as deleted.

        A list is applied even if it has an older resourceVersion than the store: after a restored etcd backup the
        versions start again from an earlier number, and the list is what exists now. If they were moved ahead
        (``etcdutl snapshot restore --bump-revision``), the list is newer, and its objects reveal the backup: one is
        older than in the store, or lacks a write that was answered before.
        """
        back = self.synced and (version < self.version or any(self._older(obj, version) for obj in objects.values()))
        if back:
            self._on_back(version if version >= self.version else 0)
        before = dict(self.objects)
        self.objects.clear()  # in place: others hold the same dictionary
        for uid, obj in objects.items():
            kept = before.get(uid)
            if back or kept is None or kept.resource_version != obj.resource_version:
                kept = self._keep(_renewed(kept, obj))
            self.objects[kept.uid] = kept  # an unchanged one is the record that views hold: one record for each object
        self.synced = True
        for uid, gone in before.items():
            if uid not in objects:
                self._on_change(gone, None)
        for uid, obj in objects.items():
            old = before.get(uid)
            if old is not self.objects[uid]:
                self._on_change(old, obj)
        self.version = version
        self._on_version(version)

    def _older(self, obj: T, version: int) -> bool:
        """Return True if an object of a list of that version has gone back."""
        known = self.objects.get(obj.uid)
        return (known is not None and obj.resource_version < known.resource_version) or self._undone(obj, version)

    def put(self, obj: T, version: int) -> None:
        """Keep ``obj``, unless the stored state is as new or newer."""
        old = self.objects.get(obj.uid)
        if old is None or old.resource_version < obj.resource_version:
            self.objects[obj.uid] = self._keep(_renewed(old, obj))
            self._on_change(old, obj)
        self.reached(version)

    def drop(self, uid: str, obj: T, version: int) -> None:
        """Remove the object, unless the store has a newer version of it.

        An object may leave a selector and come back with the same uid. The last state of an object, which its deletion
        has, is reported before the object is gone: one event may show a pod's end and its deletion.
        """
        old = self.objects.get(uid)
        if old is not None and old.resource_version <= obj.resource_version:
            del self.objects[uid]
            if old.resource_version < obj.resource_version:
                self._on_change(old, obj)
                old = obj
            self._on_change(old, None)
        self.reached(version)

    def reached(self, version: int) -> None:
        """Note that everything up to ``version`` has been seen."""
        if version > self.version:
            self.version = version
            self._on_version(version)


def _renewed(old: T | None, new: T) -> T:
    """Return the newer object with the uid of the older: that string is its key here and in views, and has 85 bytes."""
    if old is not None and isinstance(new, Struct):
        force_setattr(new, "uid", old.uid)
    return new
