"""A Workload of Kueue as the decision sees it: flat, immutable (kueue.x-k8s.io/v1beta2).

Muster makes one Workload for each Experiment that names a queue. Kueue admits it and takes the quota back by its
conditions; Muster answers by conditions of the same list. So all of them are kept, as Kueue wrote them.
"""

import msgspec

from muster.api.names import FINALIZER_QUOTA
from muster.state.vocabulary.pod import Toleration

ADMITTED, EVICTED, FINISHED = "Admitted", "Evicted", "Finished"
PODS_READY, QUOTA_RESERVED, REQUEUED = "PodsReady", "QuotaReserved", "Requeued"
"""Types of conditions (kueue: apis/kueue/v1beta2/workload_types.go)."""


class WorkloadCondition(msgspec.Struct, frozen=True, gc=False):
    """One condition (meta/v1 Condition). ``since`` is the RFC 3339 time of its last flip."""

    type: str
    status: str
    reason: str
    message: str
    since: str
    generation: int = 0

    @property
    def true(self) -> bool:
        """Return True if the status is True."""
        return self.status == "True"


class Assignment(msgspec.Struct, frozen=True, gc=False):
    """The flavors that Kueue assigned to one podSet: the names of ResourceFlavors, each once."""

    pod_set: str
    flavors: tuple[str, ...]


class Workload(msgspec.Struct, frozen=True, gc=False):
    """One Workload. ``owner`` is the uid of the Experiment that controls it."""

    uid: str
    name: str
    namespace: str
    owner: str
    resource_version: int
    generation: int
    queue: str
    active: bool
    deleting: bool
    """A deletionTimestamp is set."""
    finalizers: tuple[str, ...] = ()
    conditions: tuple[WorkloadCondition, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    created: float = 0.0
    """Wall second of its creation, 0 if it is unknown."""
    kueue_wrote: float = 0.0
    """Wall second of the last write by Kueue to its status, as managedFields have it; 0 if it is unknown."""
    ours: bool = True
    """True if Muster created it. Else Kueue did, for an object of a kind that it suspends and resumes itself."""

    @property
    def held(self) -> bool:
        """Return True if it has Muster's finalizer: it keeps its quota until that is removed."""
        return FINALIZER_QUOTA in self.finalizers

    def condition(self, kind: str) -> WorkloadCondition | None:
        """Return the condition of that type, or None."""
        return next((each for each in self.conditions if each.type == kind), None)

    def has(self, kind: str) -> bool:
        """Return True if the condition of that type is True."""
        condition = self.condition(kind)
        return condition is not None and condition.true

    @property
    def reserved(self) -> bool:
        """Return True if Kueue holds quota for it."""
        return self.has(QUOTA_RESERVED)

    @property
    def admitted(self) -> bool:
        """Return True if its pods may run: admitted, not evicted, active, not finished, and not being deleted."""
        usable = self.active and not self.deleting
        return usable and self.has(ADMITTED) and not self.has(EVICTED) and not self.has(FINISHED)

    @property
    def eviction(self) -> WorkloadCondition | None:
        """Return the true condition Evicted, or None."""
        return next((each for each in self.conditions if each.type == EVICTED and each.true), None)


class PodSetPlacement(msgspec.Struct, frozen=True):
    """Node selectors and tolerations of one group's pods, from the assigned flavors."""

    group: str
    node_selector: tuple[tuple[str, str], ...] = ()
    tolerations: tuple[Toleration, ...] = ()


class Placement(msgspec.Struct, frozen=True):
    """The placement of one epoch's pods, by the admission that the live API showed before its launch."""

    epoch: int
    workload: str
    """The uid of the Workload."""
    groups: tuple[PodSetPlacement, ...] = ()
