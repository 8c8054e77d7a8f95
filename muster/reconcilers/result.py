"""The result of one action, which the daemon enters into the view."""

from dataclasses import dataclass

from muster.api.errors import ApiError
from muster.state.view.engine_facts import Refusal
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.workload import Placement


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is known after one action."""

    version: int = 0
    """The highest resourceVersion of a pod among the answers, 0 if there was none.

    No decision is taken before the pod cache has reached it (read your own writes).
    """
    confirmed: bool | None = None
    """Whether an epoch may be launched; None unless the action was ``ConfirmLaunch``."""
    attempts: tuple[tuple[int, int], ...] = ()
    """(rank, attempt) of the members that may run again, if it is confirmed."""
    owner: int = 0
    """The Experiment's resourceVersion then; the confirmation is void for a launch decided on an older one."""
    launched: bool = False
    """All pods of the epoch that run together exist already: the daemon created them before it was restarted."""
    lost: bool | None = None
    """Whether a member's pod of that epoch is gone for good; None unless the action was ``ConfirmLoss``."""
    lost_ranks: tuple[int, ...] = ()
    """The first eight of the ranks whose pods are gone, if they are known."""
    gone: tuple[Pod, ...] = ()
    """Pods that were not seen any more, and that do not exist or have ended."""
    succeeded: tuple[Pod, ...] = ()
    """Of those, the pods that have ended with success."""
    ended: tuple[Pod, ...] = ()
    """Of those, the pods that exist and have ended otherwise, as no watch has shown."""
    altered: tuple[Pod, ...] = ()
    """Pods that may run and that no watch shows: a label or their ownerReference was changed."""
    searched: bool = False
    """The namespace was searched for pods of the experiment that no watch shows; ``altered`` has them."""
    workloads: int = 0
    """The highest resourceVersion of a Workload among the answers: the same, for the cache of Workloads."""
    placement: Placement | None = None
    """Where the pods of the epoch go; None unless the action was ``ReadAdmission`` and the Workload is admitted."""
    ahead: bool = False
    """The live API is ahead of the caches, which will show why nothing was done."""
    lost_attempts: tuple[tuple[int, int], ...] = ()
    """(rank, attempt) of the members whose pod of that attempt is gone for good, of those that were asked for."""
    claims: int | None = None
    """The epoch for which the claims of the plan exist."""
    volume_gone: bool = False
    """The claim of the shared volume is not there, though the record says that it was."""
    service: bool = False
    """The headless Service exists and is ours."""
    removed: bool = False
    """The API server has accepted the deletion of the object of the plan, or it no longer exists."""
    deleted: tuple[Pod, ...] = ()
    """Pods whose deletion the API server has accepted, or that no longer exist."""
    stopped: tuple[Pod, ...] = ()
    """Pods whose stop the API server has accepted, or that no longer exist."""
    error: ApiError | None = None
    """Why the action is not finished. The other fields hold nevertheless; repeat the action later for the rest."""
    refusal: Refusal | None = None
    """What the API server refused, in words for the user."""
    unwanted: bool = False
    """The action was stopped before its end, because it is not wanted any more. The other fields hold nevertheless."""
    blocking: tuple[str, ...] = ()
    """Names of the first eight pods of other epochs that prevent the launch."""
