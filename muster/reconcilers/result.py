"""The result of one action, which the daemon enters into the view."""

from dataclasses import dataclass

from muster.api.errors import ApiError
from muster.state.view.engine_facts import Refusal
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.workload import Placement


@dataclass(frozen=True, slots=True)
class Outcome:
    """The facts that are known after one action."""

    version: int = 0
    """The highest resourceVersion of a pod among the answers, 0 if there was none.

    No decision is taken before the pod cache has reached it (read your own writes).
    """
    confirmed: bool | None = None
    """True if an epoch may be launched; None unless the action was ``ConfirmLaunch``."""
    attempts: tuple[tuple[int, int], ...] = ()
    """(rank, attempt) of the members that may run again, if the launch is confirmed."""
    owner: int = 0
    """The Experiment's resourceVersion at that time; the confirmation is void for a launch decided on an older one."""
    launched: bool = False
    """True if all pods of the epoch that run together exist already: the daemon made them before its restart."""
    lost: bool | None = None
    """True if a member's pod of that epoch is gone for good; None unless the action was ``ConfirmLoss``."""
    lost_ranks: tuple[int, ...] = ()
    """The first eight of the ranks whose pods are gone, if they are known."""
    gone: tuple[Pod, ...] = ()
    """Unseen pods that do not exist or have ended."""
    succeeded: tuple[Pod, ...] = ()
    """The pods of ``gone`` that have ended with success."""
    ended: tuple[Pod, ...] = ()
    """The pods of ``gone`` that exist and have ended otherwise, as no watch has shown."""
    altered: tuple[Pod, ...] = ()
    """Pods that may run and that no watch shows: a label or their ownerReference was changed."""
    searched: bool = False
    """True if the namespace was searched for pods of the experiment that no watch shows; ``altered`` has them."""
    workloads: int = 0
    """The highest resourceVersion of a Workload among the answers, which the cache of Workloads must reach."""
    placement: Placement | None = None
    """The placement of the epoch's pods; None unless the action was ``ReadAdmission`` and the Workload is admitted."""
    ahead: bool = False
    """True if the live API is ahead of the caches, which will show why nothing was done."""
    lost_attempts: tuple[tuple[int, int], ...] = ()
    """(rank, attempt) of the members in question whose pod of that attempt is gone for good."""
    claims: int | None = None
    """The epoch for which the claims of the plan exist."""
    volume_gone: bool = False
    """True if the claim of the shared volume does not exist, though the record has it as made."""
    service: bool = False
    """True if the headless Service exists and is ours."""
    removed: bool = False
    """True if the API server has accepted the deletion of the plan's object, or it no longer exists."""
    deleted: tuple[Pod, ...] = ()
    """Pods whose deletion the API server has accepted, or that no longer exist."""
    stopped: tuple[Pod, ...] = ()
    """Pods whose stop the API server has accepted, or that no longer exist."""
    error: ApiError | None = None
    """The reason why the action is not finished. The other fields hold nevertheless; repeat the action for the rest."""
    refusal: Refusal | None = None
    """The refusal of the API server, in words for the user."""
    unwanted: bool = False
    """True if the action was stopped before its end, as no longer wanted. The other fields hold nevertheless."""
