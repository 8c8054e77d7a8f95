"""Facts that only the engine learns: the live API's answers to this process, which no watch brings."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf

from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.wall_time import WallTime
from muster.state.vocabulary.workload import Placement


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal by the API server of what a decision asked for. A ``final`` one is not worth repeating."""

    reason: str
    message: str
    final: bool
    passing: bool = False
    """True if it is often over within a second (5xx, 429, a timeout): it counts only after ``SAID_AFTER``."""
    retry_after: float = 0.0
    """Seconds that the API server asked to wait."""


SAID_AFTER = 2.0
"""Seconds after which a passing refusal is reported on the experiment."""
FIRST_RETRY, LAST_RETRY = 5.0, 30.0
"""Seconds before a refused request is repeated; they double."""
QUICK_RETRY, LAST_QUICK_RETRY = 0.1, 1.0
"""Seconds for a passing refusal that is not reported yet."""


@dataclass(frozen=True, slots=True)
class RefusedAction:
    """A refusal that lasts: the action of that name, and those after it, wait until ``retry_at``."""

    refusal: Refusal
    action: str
    since: WallTime
    """The wall second at which the action was first tried in vain."""
    reported: bool
    pause: float
    retry_at: WallTime


@dataclass(frozen=True, slots=True)
class LiveRead:
    """A read of the experiment's pods from the live API; the view holds them as they were then, or newer."""

    at: float
    """The wall second at which it was asked."""
    version: int
    """The resourceVersion of its answer."""


@dataclass(slots=True)
class EngineFacts:
    """The facts of one experiment. Epochs are -1 while the fact holds for none.

    Most gangs have nothing in these collections. An empty set takes 216 bytes and an empty dict 64, so a collection
    that changes by single items is a dict, even if only its keys count.
    """

    confirmed: int = -1
    """The epoch whose launch the live API has confirmed."""
    launched: int = -1
    """The epoch whose pods all existed at once: a pod that is missing afterwards was lost."""
    lost: int = -1
    """The epoch for which the live API has confirmed that a member's pod is gone."""
    confirmed_attempts: frozenset[tuple[int, int, int]] = frozenset()
    """(epoch, rank, attempt) of the members whose next life the live API has confirmed."""
    lost_attempts: dict[tuple[int, int, int], None] = field(default_factory=dict)
    """(epoch, rank, attempt) of the members whose pod the live API has confirmed to be gone."""
    live_read: LiveRead | None = None
    """The last read past the cache."""
    deleting: dict[str, float] = field(default_factory=dict)
    """Pods (by uid) whose deletion was accepted, with the seconds of grace; until they are known to be gone."""
    stopping: dict[str, None] = field(default_factory=dict)
    """Pods (by uid) that the API server has been asked to stop; until they are gone."""
    not_found: dict[str, float] = field(default_factory=dict)
    """Pods (by uid) that a live read did not find, with the monotonic second of the first; until they are gone."""
    lost_ranks: tuple[int, ...] = ()
    """The first ranks of the epoch ``lost`` whose pods are gone."""
    vanished: dict[str, Pod] = field(default_factory=dict)
    """Pods (by uid) that are no longer seen, as they were seen last: until the live API reports what became of them."""
    altered: dict[str, None] = field(default_factory=dict)
    """Those vanished pods that may run: a label or their ownerReference was changed."""
    ended_vanished: frozenset[str] = frozenset()
    """Pods (by uid) of the epoch ``lost`` that were altered, and known by the live API only as ended."""
    searched: bool = False
    """True if the namespace was searched for pods that vanished before this process saw the experiment."""
    claims: int = -1
    """The epoch for which the claims were found, or made, by this leadership."""
    volume_gone: int = -1
    """The epoch in which the claim of the shared volume did not exist, though by the record it did."""
    service: bool = False
    """True if the headless Service exists."""
    removed: bool = False
    """True if the API server has accepted the deletion of the object of the plan; for good."""
    refusal: Refusal | None = None
    """The refusal of the API server, once it counts."""
    refused: RefusedAction | None = None
    """That refusal with its times, from the first attempt on."""

    placement: Placement | None = None
    """The placement of the pods of an epoch, by the admission of the queue."""
    answered: bool = False
    """True if the API server has accepted, or refused, an action of this leadership: no earlier refusal is open."""

    def refuse(self, refusal: Refusal, action: str, began: float, now: float) -> None:
        """Note that the API server refused that action, of an attempt that began at ``began``."""
        before = self.refused if self.refused is not None and self.refused.action == action else None
        since = before.since if before is not None else began
        shown = not refusal.passing or now - since >= SAID_AFTER
        first, last = (FIRST_RETRY, LAST_RETRY) if shown else (QUICK_RETRY, LAST_QUICK_RETRY)
        pause = max(first, min(last, 2 * before.pause)) if before is not None else first
        self.refused = RefusedAction(refusal, action, since, shown, pause, now + max(pause, refusal.retry_after))
        if shown:
            self.refusal = refusal

    def accept(self) -> None:
        """Forget the refusal: its action has been done, or is no longer wanted."""
        self.refused = self.refusal = None

    def reset(self) -> None:
        """Forget what the live API reported to an earlier leadership: it must be asked again.

        ``launched`` and ``deleting`` hold for every leader, and ``service`` is kept by a watch.
        """
        self.confirmed = self.lost = self.claims = self.volume_gone = -1
        self.live_read = self.placement = None
        self.confirmed_attempts = frozenset()
        self.lost_attempts.clear()
        self.answered = False
        self.accept()

    def vanish(self, pod: Pod) -> None:
        """Keep a pod that is no longer seen, unless its last state shows that it ended, or that it never had a node."""
        unplaced = not pod.scheduled and (pod.terminating or pod.uid in self.deleting)
        if pod.live and not unplaced:
            self.vanished[pod.uid] = pod

    def found(self, gone: Iterable[Pod], altered: Iterable[Pod]) -> None:
        """Take in the live API's answer about pods that had vanished."""
        for pod in gone:
            self.seen(pod)
            self.deleting.pop(pod.uid, None)
        for pod in altered:
            self.vanished.setdefault(pod.uid, pod)
            self.altered[pod.uid] = None

    def seen(self, pod: Pod) -> None:
        """Forget a vanished pod: it is seen again, or is known to be gone."""
        self.vanished.pop(pod.uid, None)
        self.altered.pop(pod.uid, None)

    def delete_accepted(self, pod: Pod, grace: int | None) -> bool:
        """Return True if the API server has accepted that pod's deletion within that grace (None: its own) already."""
        accepted = self.deleting.get(pod.uid)
        return accepted is not None and accepted <= (inf if grace is None else grace)
