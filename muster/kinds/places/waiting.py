"""The pods at work that wait for a place: more of them exist than places, until a scale-down has gone through.

They are kept by where they may take a place: the epoch and the first rank of those places.
"""

from muster.state.vocabulary.pod import Pod

Where = tuple[int, int]


class PodQueue:
    """The pods by where they wait, in the order in which they came."""

    def __init__(self) -> None:
        self._rows: dict[Where, dict[str, Pod]] = {}
        self._where: dict[str, Where] = {}

    def __bool__(self) -> bool:
        """Return True if some pod waits."""
        return bool(self._rows)

    def add(self, where: Where, pod: Pod) -> None:
        """Add a pod that waits there."""
        self._rows.setdefault(where, {})[pod.uid] = pod
        self._where[pod.uid] = where

    def leave(self, uid: str) -> None:
        """Remove the pod of that uid."""
        if (where := self._where.pop(uid, None)) is not None:
            del self._rows[where][uid]
            if not self._rows[where]:
                del self._rows[where]

    def first(self, where: Where) -> Pod | None:
        """Return the pod that has waited there longest."""
        return next(iter(self._rows.get(where, {}).values()), None)

    def replica(self, where: Where, index: int) -> list[Pod]:
        """Return the pods of one replica that wait there."""
        return [pod for pod in self._rows.get(where, {}).values() if pod.job == index]

    def clear(self) -> None:
        """Remove all pods."""
        self._rows.clear()
        self._where.clear()
