"""What a step asks of the watch caches."""

from typing import Protocol

from muster.state.view.view import View
from muster.state.vocabulary.plan import Plan


class Informers(Protocol):
    """How far the watch caches have come."""

    @property
    def synced(self) -> bool:
        """Whether every cache has had its first list."""
        ...

    @property
    def workloads_known(self) -> bool:
        """Whether the cache of Workloads has had its first list, or there is none to wait for."""
        ...

    @property
    def workloads_version(self) -> int:
        """The newest resourceVersion that the cache of Workloads contains."""
        ...

    @property
    def queue_problem(self) -> str:
        """Why no Workload can be seen or made; empty while they can."""
        ...

    @property
    def pods_version(self) -> int:
        """The newest resourceVersion that the pod cache contains."""
        ...

    def list_again(self, plural: str) -> None:
        """The cache of that kind is newer than the API server."""
        ...

    async def read_live(self, plan: Plan, view: View) -> int | None:
        """List the plan's pods from the live API into the cache. Returns the resourceVersion of the list.

        None where the watch must bring the last state of a pod that is gone before anything is decided.
        """
        ...
