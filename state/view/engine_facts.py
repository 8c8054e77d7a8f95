"""What only the engine learns: the live API's answers to this process, which no watch brings."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf

from muster.state.pod import Pod


@dataclass(frozen=True, slots=True)
class Refusal:
    """The API server refused what a decision asked for. A ``final`` refusal is not worth repeating."""

    reason: str
    message: str
    final: bool


@dataclass(frozen=True, slots=True)
class LiveRead:
    """The live API was asked for the experiment's pods; the view holds them as they were then, or newer."""

    at: float
    """The wall second at which it was asked."""
    version: int
    """The resourceVersion of its answer."""


@dataclass(slots=True)
class EngineFacts:
    """The facts of one experiment. Epochs are -1 while the fact holds for none."""

    confirmed: int = -1
    """The epoch whose launch the live API has confirmed."""
    launched: int = -1
    """The epoch whose pods all existed at once: a pod that is missing afterwards was lost."""
    lost: int = -1
    """The epoch of which the live API has confirmed that a member's pod is gone."""
    live_read: LiveRead | None = None
    """The last read past the cache."""
    deleting: dict[str, float] = field(default_factory=dict)
    """Pods (by uid) whose deletion the API server has accepted, with the seconds of grace; until they are gone."""
    service: bool = False
    """The headless Service exists."""
    refusal: Refusal | None = None

    def reset(self) -> None:
        """Forget what the live API said to an earlier leadership: it must be asked again.

        ``launched`` and ``deleting`` hold for every leader, and ``service`` is kept by a watch.
        """
        self.confirmed = self.lost = -1
        self.live_read = self.refusal = None

    def delete_accepted(self, pod: Pod, grace: int | None) -> bool:
        """The API server has accepted the deletion of that pod within that grace (None: the pod's own) already."""
        accepted = self.deleting.get(pod.uid)
        return accepted is not None and accepted <= (inf if grace is None else grace)

    def accept_delete(self, pods: Iterable[Pod], grace: int | None) -> None:
        """The API server has accepted the deletion of these pods."""
        for pod in pods:
            self.deleting[pod.uid] = inf if grace is None else grace
