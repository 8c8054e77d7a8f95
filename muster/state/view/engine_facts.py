"""What only the engine learns: the live API's answers to this process, which no watch brings."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf

from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.wall_time import WallTime
from muster.state.vocabulary.workload import Placement


@dataclass(frozen=True, slots=True)
class Refusal:
    """The API server refused what a decision asked for. A ``final`` refusal is not worth repeating."""

    reason: str
    message: str
    final: bool
    passing: bool = False
    """It is often over within a second (5xx, 429, a timeout): it counts only once it has lasted ``SAID_AFTER``."""
    retry_after: float = 0.0
    """Seconds that the API server asked to wait."""


SAID_AFTER = 2.0
"""Seconds after which a passing refusal is said on the experiment."""
FIRST_RETRY, LAST_RETRY = 5.0, 30.0
"""Seconds before a refused request is repeated; they double."""
QUICK_RETRY, LAST_QUICK_RETRY = 0.1, 1.0
"""The same for a passing refusal that is not said yet."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A standing refusal: the action of that name, and those after it, wait until ``retry_at``."""

    refusal: Refusal
    action: str
    since: WallTime
    """The wall second at which the action was first tried in vain."""
    said: bool
    pause: float
    retry_at: WallTime


def refused(before: Refused | None, refusal: Refusal, action: str, began: float, now: float) -> Refused:
    """The standing refusal after one more, of an attempt that began at ``began``."""
    again = before is not None and before.action == action
    since = before.since if before and again else began
    said = not refusal.passing or now - since >= SAID_AFTER
    first, last = (FIRST_RETRY, LAST_RETRY) if said else (QUICK_RETRY, LAST_QUICK_RETRY)
    pause = max(first, min(last, 2 * before.pause)) if before and again else first
    return Refused(refusal, action, since, said, pause, now + max(pause, refusal.retry_after))


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
    confirmed_attempts: set[tuple[int, int, int]] = field(default_factory=set)
    """(epoch, rank, attempt) of the members whose next life the live API has confirmed."""
    lost_attempts: set[tuple[int, int, int]] = field(default_factory=set)
    """The same of the members whose pod the live API has confirmed to be gone."""
    live_read: LiveRead | None = None
    """The last read past the cache."""
    deleting: dict[str, float] = field(default_factory=dict)
    """Pods (by uid) whose deletion was accepted, with the seconds of grace; until they are known to be gone."""
    stopping: set[str] = field(default_factory=set)
    """Pods (by uid) that the API server has been asked to stop; until they are gone."""
    not_found: dict[str, float] = field(default_factory=dict)
    """Pods (by uid) that a live read did not find, with the monotonic second of the first; until they are gone."""
    lost_ranks: tuple[int, ...] = ()
    """The first ranks of the epoch ``lost`` whose pods are gone."""
    vanished: dict[str, Pod] = field(default_factory=dict)
    """Pods (by uid) that are not seen any more, as they were seen last: until the live API says what became of them."""
    altered: set[str] = field(default_factory=set)
    """Of those, pods that may run: a label or their ownerReference was changed."""
    ended_vanished: set[str] = field(default_factory=set)
    """Pods (by uid) of the epoch ``lost`` that were altered, where the live API says only that they ended."""
    searched: bool = False
    """The namespace was searched for pods that vanished before this process saw the experiment."""
    claims: int = -1
    """The epoch for which the claims were found, or made, by this leadership."""
    volume_gone: int = -1
    """The epoch in which the claim of the shared volume was not there, though the record says that it was."""
    service: bool = False
    """The headless Service exists."""
    removed: bool = False
    """The API server has accepted the deletion of the object of the plan; for good."""
    refusal: Refusal | None = None
    """What the API server refuses, once it counts."""
    refused: Refused | None = None
    """The same with its times, from the first attempt on."""

    placement: Placement | None = None
    """Where the pods of an epoch go, by the admission of the queue."""
    answered: bool = False
    """The API server has accepted, or refused, what this leadership asked for: no refusal of before is open."""

    def refuse(self, refusal: Refusal, action: str, began: float, now: float) -> None:
        """The API server refused that action."""
        self.refused = refused(self.refused, refusal, action, began, now)
        if self.refused.said:
            self.refusal = refusal

    def accept(self) -> None:
        """What was refused has been done, or is not wanted any more."""
        self.refused = self.refusal = None

    def reset(self) -> None:
        """Forget what the live API said to an earlier leadership: it must be asked again.

        ``launched`` and ``deleting`` hold for every leader, and ``service`` is kept by a watch.
        """
        self.confirmed = self.lost = self.claims = self.volume_gone = -1
        self.live_read = self.placement = None
        self.confirmed_attempts.clear()
        self.lost_attempts.clear()
        self.answered = False
        self.accept()

    def vanish(self, pod: Pod) -> None:
        """The pod is not seen any more. Its last state may say that it ended, or that it never had a node."""
        unplaced = not pod.scheduled and (pod.terminating or pod.uid in self.deleting)
        if pod.live and not unplaced:
            self.vanished[pod.uid] = pod

    def found(self, gone: Iterable[Pod], altered: Iterable[Pod]) -> None:
        """The live API was asked for pods that had vanished."""
        for pod in gone:
            self.seen(pod)
            self.deleting.pop(pod.uid, None)
        for pod in altered:
            self.vanished.setdefault(pod.uid, pod)
            self.altered.add(pod.uid)

    def seen(self, pod: Pod) -> None:
        """The pod is seen again, or is known to be gone."""
        self.vanished.pop(pod.uid, None)
        self.altered.discard(pod.uid)

    def delete_accepted(self, pod: Pod, grace: int | None) -> bool:
        """The API server has accepted the deletion of that pod within that grace (None: the pod's own) already."""
        accepted = self.deleting.get(pod.uid)
        return accepted is not None and accepted <= (inf if grace is None else grace)

    def accept_delete(self, pods: Iterable[Pod], grace: int | None) -> None:
        """The API server has accepted the deletion of these pods."""
        for pod in pods:
            self.deleting[pod.uid] = inf if grace is None else grace
