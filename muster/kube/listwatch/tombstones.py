"""Who was deleted, so that late news of the dead does not bring them back.

A change that arrives after its object's deletion would put the object into the cache again, with nobody left to take it
out, and a barrier that waits for the old gang's end would wait for ever. The memory is bounded: what it has to forget
raises ``floor``, below which nothing is news any more (a watch delivers in order of resourceVersion, so only strays are
that late).
"""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Tombstones:
    """uids with the resourceVersion of their deletion, at most ``most`` of them."""

    most: int = 4096
    floor: int = 0
    _graves: dict[str, int] = field(default_factory=dict, init=False)

    def __len__(self) -> int:
        return len(self._graves)

    def bury(self, uid: str, version: int) -> None:
        """The object was deleted at ``version``."""
        self._graves.pop(uid, None)
        self._graves[uid] = version
        if len(self._graves) > self.most:
            oldest = next(iter(self._graves))
            self.floor = max(self.floor, self._graves.pop(oldest))

    def late(self, uid: str, version: int) -> bool:
        """Whether a state of ``version`` is older than what is known: listed before, or deleted since."""
        if version <= self.floor:
            return True
        if not self._graves:
            return False
        buried = self._graves.get(uid)
        if buried is None:
            return False
        if version <= buried:
            return True
        del self._graves[uid]  # it left the selector and came back: the same uid, but newer
        return False

    def start_over(self, floor: int) -> None:
        """A full list was taken at ``floor``: everything up to there is in it or gone."""
        self._graves.clear()
        self.floor = floor
