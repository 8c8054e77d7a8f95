"""What came of carrying out one action, as the daemon puts it into the view."""

from dataclasses import dataclass

from muster.api.errors import ApiError
from muster.state.pod import Pod
from muster.state.view.engine_facts import Refusal


@dataclass(frozen=True, slots=True)
class Outcome:
    """The facts one action brought back."""

    version: int = 0
    """The highest resourceVersion of a pod among the answers, 0 if there was none.

    No decision may follow before the pod cache has come this far (read your own writes).
    """
    confirmed: bool | None = None
    """Whether an epoch may be launched; None unless the action was ``ConfirmLaunch``."""
    owner: int = 0
    """The owner's resourceVersion at that time. Where it is newer than what the launch was decided on, it is void."""
    launched: bool = False
    """All pods of the epoch that run together are there already: an earlier life of ours has made them."""
    lost: bool | None = None
    """Whether a member's pod of that epoch is gone for good; None unless the action was ``ConfirmLoss``."""
    service: bool = False
    """The headless Service exists and is ours."""
    deleted: tuple[Pod, ...] = ()
    """Pods that are going or gone."""
    error: ApiError | None = None
    """What kept the action from being finished. The other facts hold all the same; come back later for the rest."""
    refusal: Refusal | None = None
    """What the API server would not do, in words for a person."""
    blocking: tuple[str, ...] = ()
    """Pods of other epochs that stand in the way of a launch, by name; the first eight."""
