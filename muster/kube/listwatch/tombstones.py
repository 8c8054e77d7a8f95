"""Remembers deleted objects, so that a late event does not bring one back.

A change that arrives after its object's deletion would put the object into the cache again for ever, and a barrier
that waits for its end would never open. The number of tombstones is bounded: one that is dropped raises ``floor``, up
to which every event counts as late (a watch delivers in order of resourceVersion, so hardly any is).
"""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Tombstones:
    """uids with the resourceVersion of their deletion, at most ``most`` of them."""

    most: int = 4096
    floor: int = 0
    _deleted: dict[str, int] = field(default_factory=dict, init=False)

    def __len__(self) -> int:
        return len(self._deleted)

    def add(self, uid: str, version: int) -> None:
        """Note that the object was deleted at ``version``."""
        self._deleted.pop(uid, None)
        self._deleted[uid] = version
        if len(self._deleted) > self.most:
            oldest = next(iter(self._deleted))
            self.floor = max(self.floor, self._deleted.pop(oldest))

    def late(self, uid: str, version: int) -> bool:
        """Whether a state of ``version`` is older than what is known: listed before, or deleted since."""
        if version <= self.floor:
            return True
        if not self._deleted:
            return False
        deleted = self._deleted.get(uid)
        if deleted is None:
            return False
        if version <= deleted:
            return True
        del self._deleted[uid]  # it left the selector and came back: the same uid, but newer
        return False

    def clear(self, floor: int) -> None:
        """Drop all after a full list at ``floor``: everything up to there is in the list or deleted."""
        self._deleted.clear()
        self.floor = floor
