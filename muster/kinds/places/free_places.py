"""The places of one job that a pod without an index may take: the lowest without a pod, else the lowest that is lost.

A place is lost when its pod has ended without success or is terminating. Every place is looked at once when the job is
first asked for one, and after that only those whose pod has changed: n pods that come one by one cost n log n.
"""

from collections.abc import Callable
from heapq import heappop, heappush

Is = Callable[[int], bool]


class FreePlaces:
    """The free and lost places of one job. ``free`` and ``lost`` check the present state of a rank."""

    def __init__(self, ranks: range, free: Is, lost: Is) -> None:
        self.ranks = ranks
        self._free, self._lost = free, lost
        self._frees = [rank for rank in ranks if free(rank)]  # ascending, and so a heap
        self._losts = [rank for rank in ranks if lost(rank)]

    def __len__(self) -> int:
        """Return the number of entries, some of them out of date."""
        return len(self._frees) + len(self._losts)

    def note(self, rank: int) -> None:
        """Note a change of the pod of a place."""
        if self._free(rank):
            heappush(self._frees, rank)
        elif self._lost(rank):
            heappush(self._losts, rank)
        if len(self) > 4 * len(self.ranks) + 16:  # one place may change again and again
            self._frees, self._losts = sorted(set(self._frees)), sorted(set(self._losts))

    def lowest(self) -> int | None:
        """Return the place to take; None where every pod is at work."""
        for heap, holds in ((self._frees, self._free), (self._losts, self._lost)):
            while heap and not holds(heap[0]):
                heappop(heap)
            if heap:
                return heap[0]
        return None
