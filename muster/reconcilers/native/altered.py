"""Pods that are not seen any more: the API server is asked for them by name before they are believed to be gone.

A member's pod is seen by a label and by its controller. Who may edit pods can take either away, and the watch then
reports the pod as it reports one that was deleted, while its program runs on. Names cannot be edited, and follow from
the uid of the Experiment, the epoch and the attempt. So before a loss is believed, or another pod of a rank is created,
each pod that vanished without a last state that says how it ended is asked for by its name: with one GET each, or with
one LIST of the namespace where they are many.

A daemon that has seen no gang of the experiment complete does not know what vanished before its time. It searches the
namespace once for the names of the epochs before.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from muster.api.names import LABEL_UID, name_suffix
from muster.reconcilers.native.live_pods import LivePod, everything, named
from muster.reconcilers.requests.adoption import SHOWN
from muster.reconcilers.requests.batch import Calls
from muster.state.view.engine_facts import Refusal
from muster.state.vocabulary.group import Member
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod, PodPhase

BY_NAME = 8
"""Pods up to which each is asked for with a request of its own."""
EPOCHS, ATTEMPTS = 32, 8
"""How many of the last epochs, and of the first attempts in each, a search knows the names of."""
REASON = "PodAltered"
NO_OTHER = "creates no other pod of its rank"
KEEPS_QUOTA = "keeps the quota of the experiment until it has ended"


@dataclass(slots=True)
class Whereabouts:
    """What has become of pods that were not seen any more."""

    alive: list[tuple[Pod, LivePod]] = field(default_factory=list)
    """A container of them may still run."""
    gone: list[Pod] = field(default_factory=list)
    """They do not exist, or have ended."""
    succeeded: list[Pod] = field(default_factory=list)
    """Of those, the pods that have ended with success, and not because they were deleted."""
    ended: list[Pod] = field(default_factory=list)
    """Of those, the other pods that still exist."""

    @property
    def altered(self) -> list[tuple[Pod, LivePod]]:
        """The pods that may run and that no watch shows."""
        return [each for each in self.alive if _changes(each[1], each[0])]


async def ask_for(calls: Calls, plan: Plan, pods: Collection[Pod]) -> Whereabouts:
    """Ask for these pods by name. Raises ``ApiError``."""
    found: dict[str, LivePod] = {}
    names = {pod.name for pod in pods}
    if len(names) > BY_NAME:
        async for page in everything(calls, plan):
            found.update((live.metadata.name, live) for live in page if live.metadata.name in names)
    else:
        for name in sorted(names):
            if (live := await named(calls, plan.namespace, name)) is not None:
                found[name] = live
    return _sorted(pods, found)


async def may_run(calls: Calls, pod: Pod) -> bool:
    """Return whether that very pod exists and has not ended. Raises ``ApiError``."""
    live = await named(calls, pod.namespace, pod.name)
    return live is not None and live.live and live.metadata.uid == pod.uid


async def search(calls: Calls, plan: Plan, epoch: int) -> list[Pod]:
    """Return the pods with the name of a member in one of the last epochs, up to ``epoch``, that may run.

    Raises ``ApiError``.
    """
    lives = {
        name_suffix(plan.uid, each, attempt): (each, attempt)
        for each in range(max(0, epoch - EPOCHS), epoch + 1)
        for attempt in range(ATTEMPTS)
    }
    found: list[Pod] = []
    async for page in everything(calls, plan):
        for live in page:
            life = lives.get(live.metadata.name.rpartition("-")[2])
            if life is not None and live.live and (member := _member(plan, live, *life)):
                found.append(unseen(plan, member, *life, live.metadata.uid))
    return found


def unseen(plan: Plan, member: Member, epoch: int, attempt: int, uid: str = "") -> Pod:
    """Return the record of a pod that is known by name only."""
    return Pod(
        uid=uid,
        name=plan.pod_name(member, epoch, attempt),
        namespace=plan.namespace,
        resource_version=0,
        owner=plan.uid,
        group=member.group,
        job=member.job,
        index=member.pod,
        rank=member.rank,
        epoch=epoch,
        phase=PodPhase.UNKNOWN,
        ready=False,
        terminating=False,
        delete_by=0.0,
        scheduled=False,
        node="",
        ip="",
        started=False,
        waiting_reason="",
        waiting_message="",
        exit=None,
        disruption="",
        attempt=attempt,
    )


def refusal_for(plan: Plan, found: Sequence[tuple[Pod, LivePod]], waits: str = NO_OTHER) -> Refusal | None:
    """Return the refusal for pods that may run unseen, and what ``waits`` for them; None without any."""
    if not found:
        return None
    pod, live = found[0]
    place = f", {place}" if (place := plan.place(pod.rank)) else ""
    where = f" on node {pod.node}" if pod.node else ""
    leaving = all(live.metadata.deletion_timestamp is not None for _, live in found)
    runs = "is being deleted and may still run" if leaving else "may still run"
    others = len(found) - 1
    more = f" {others} more {'pod is' if others == 1 else 'pods are'} like it." if others else ""
    return Refusal(
        REASON,
        f"Pod {plan.namespace}/{pod.name} (rank {pod.rank}{place}) {runs}{where}, but "
        f"{' and '.join(_changes(live, pod))}. Muster cannot follow it and {waits}.{more} Undo the change, or delete "
        "the pod.",
        final=False,
        passing=leaving,
    )


def _sorted(pods: Iterable[Pod], found: dict[str, LivePod]) -> Whereabouts:
    result = Whereabouts()
    for pod in pods:
        live = found.get(pod.name)
        if live is not None and live.live and live.metadata.uid == (pod.uid or live.metadata.uid):
            result.alive.append((pod, live))
            continue
        result.gone.append(pod)
        if live is not None and live.metadata.uid == pod.uid:
            succeeded = live.status.phase == PodPhase.SUCCEEDED and live.metadata.deletion_timestamp is None
            (result.succeeded if succeeded else result.ended).append(pod)
    return result


def _changes(live: LivePod, pod: Pod) -> list[str]:
    """Return which marks of a member the pod has lost; empty: all are there again, and the watch shows it."""
    labels, owner = live.metadata.labels or {}, live.metadata.controller
    changes = []
    if labels.get(LABEL_UID) != pod.owner:
        now = f"now {labels[LABEL_UID][:SHOWN]!r}" if LABEL_UID in labels else "missing"
        changes.append(f"its label {LABEL_UID} is {now} (it was {pod.owner})")
    if owner is None:
        changes.append("its ownerReference is missing")
    elif owner.uid != pod.owner:
        changes.append(f"its controller is now {owner.kind[:SHOWN]!r} {owner.name[:SHOWN]!r}")
    if (live.rank, live.epoch, live.attempt) != (pod.rank, pod.epoch, pod.attempt):
        changes.append("its labels of rank, epoch and attempt are not those of its name")
    return changes


def _member(plan: Plan, live: LivePod, epoch: int, attempt: int) -> Member | None:
    """Return the member that has that name in that epoch and attempt."""
    labelled = plan.named(live.metadata.name, live.rank, epoch, attempt)
    return labelled or next(_by_name(plan, live.metadata.name, epoch, attempt), None)


def _by_name(plan: Plan, name: str, epoch: int, attempt: int) -> Iterator[Member]:
    return (member for member in plan.members() if plan.pod_name(member, epoch, attempt) == name)
