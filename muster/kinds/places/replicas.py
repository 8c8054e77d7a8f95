"""Which job of a group each replica is, where replicas keep their numbers when others go (Ray with several hosts).

KubeRay names each replica by an index, and a scale-down removes any of them: of two that are left the indices may be 0
and 7. The pods of one replica are one job of the plan. A replica has the job of its own index as long as that is free,
else the lowest one that is, else one whose pods all end. It keeps the job until its last pod is gone.
"""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Replica:
    job: int
    pods: set[str] = field(default_factory=set)
    """The uids of its pods."""


@dataclass(slots=True)
class Replicas:
    """The replicas of one group in one epoch. ``ends`` is True for a job without a pod at work."""

    jobs: int
    ends: Callable[[int], bool]
    _known: dict[int, _Replica] = field(default_factory=dict)
    """By replica index."""
    _held: dict[int, int] = field(default_factory=dict)
    """By job, the index of the replica that took it last."""

    def job_of(self, index: int, uid: str) -> int | None:
        """Return the job of the replica that a pod belongs to; None where every job is at work."""
        replica = self._known.get(index)
        if replica is None:
            job = self._job(index)
            if job is None:
                return None
            replica = self._known[index] = _Replica(job)
            self._held[job] = index
        replica.pods.add(uid)
        return replica.job

    def leave(self, index: int, uid: str) -> None:
        """Remove a pod that is gone."""
        replica = self._known.get(index)
        if replica is None:
            return
        replica.pods.discard(uid)
        if not replica.pods:
            del self._known[index]
            if self._held.get(replica.job) == index:
                del self._held[replica.job]

    def _job(self, index: int) -> int | None:
        if index < self.jobs and index not in self._held:
            return index
        free = next((job for job in range(self.jobs) if job not in self._held), None)
        return free if free is not None else next((job for job in range(self.jobs) if self.ends(job)), None)
