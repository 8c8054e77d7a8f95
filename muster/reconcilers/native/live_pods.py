"""The pods of an experiment as the API server has them now: page by page, and by name before they count as gone.

A watch selects a member's pod by a label and by its controller. A user who may edit pods can remove either, and the
watch then reports the pod like a deleted one, while its program still runs. Names cannot be edited, and follow from the
uid of the Experiment, the epoch and the attempt. So before a loss counts, or another pod of a rank is created, each pod
that vanished without a last state that shows its end is read by its name: with one GET each, or with one LIST of the
namespace if there are many.
"""

from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from muster.api.errors import NotFound
from muster.api.names import LABEL_ATTEMPT, LABEL_EPOCH, LABEL_RANK, LABEL_UID, name_suffix, selector_of
from muster.api.values.printable import small_number
from muster.kube.resources import Metadata, ask, core
from muster.reconcilers.requests.batch import SHOWN, Calls
from muster.state.view.engine_facts import Refusal
from muster.state.vocabulary.group import Member
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod, PodPhase

PAGE = 500
"""Pods per page: the page size of Kubernetes' own clients (client-go: tools/pager)."""


class _PodStatus(msgspec.Struct, frozen=True, gc=False):
    phase: str = ""


class LivePod(msgspec.Struct, frozen=True, gc=False):
    """The fields of a pod that the barrier reads."""

    metadata: Metadata
    status: _PodStatus = _PodStatus()

    @property
    def epoch(self) -> int:
        """The epoch in the pod's labels; -1 for nonsense."""
        return small_number((self.metadata.labels or {}).get(LABEL_EPOCH))

    @property
    def rank(self) -> int:
        """The rank in the pod's labels; -1 for nonsense."""
        return small_number((self.metadata.labels or {}).get(LABEL_RANK))

    @property
    def attempt(self) -> int:
        """The attempt in the pod's labels; -1 for nonsense."""
        attempt = (self.metadata.labels or {}).get(LABEL_ATTEMPT)
        return small_number(attempt) if attempt else 0

    def member_of(self, plan: Plan) -> bool:
        """Return True if the plan's Experiment controls the pod, and its name is one of a member.

        The pod's creator wrote its labels and owner references (``muster.state.view.membership``).
        """
        owner = self.metadata.controller
        ours = owner is not None and owner.uid == plan.uid
        return ours and plan.named(self.metadata.name, self.rank, self.epoch, self.attempt) is not None

    @property
    def live(self) -> bool:
        """True if a container may still run. A terminating pod counts until it is gone."""
        return self.status.phase not in (PodPhase.SUCCEEDED, PodPhase.FAILED)


class _Page(msgspec.Struct, frozen=True, gc=False):
    token: str = msgspec.field(name="continue", default="")


class Pods(msgspec.Struct, frozen=True, gc=False):
    """One page of a list."""

    metadata: _Page = _Page()
    items: tuple[LivePod, ...] | None = None


async def pages(calls: Calls, plan: Plan) -> AsyncIterator[list[LivePod]]:
    """Yield the members' pods of every epoch, page by page.

    Raises ``ApiError``; ``Expired`` when the API server has compacted the revision of the first page.
    """
    async for page in everything(calls, plan, labelSelector=selector_of(plan.uid)):
        yield [pod for pod in page if pod.member_of(plan)]


async def everything(calls: Calls, plan: Plan, **which: str) -> AsyncIterator[tuple[LivePod, ...]]:
    """Yield all pods of the namespace, whatever their labels and owners are, page by page. Raises as ``pages`` does.

    ``which`` are parameters of the list.
    """
    path, token = core(plan.namespace, "pods"), ""
    while True:
        params = {**which, "limit": str(PAGE)}
        if token:
            params["continue"] = token
        page = await ask(calls.do, "GET", path, Pods, params=params)
        yield page.items or ()
        token = page.metadata.token
        if not token:
            return


async def named(calls: Calls, namespace: str, name: str) -> LivePod | None:
    """Return the pod of that name in the namespace, if there is one. Raises ``ApiError``."""
    try:
        return await ask(calls.do, "GET", core(namespace, "pods", name), LivePod)
    except NotFound:
        return None


BY_NAME = 8
"""Most pods that are read with a request each."""
EPOCHS, ATTEMPTS = 32, 8
"""Number of the last epochs, and of the first attempts in each, whose names a search knows."""
REASON = "PodAltered"
NO_OTHER = "creates no other pod of its rank"
KEEPS_QUOTA = "keeps the quota of the experiment until it has ended"


@dataclass(slots=True)
class Whereabouts:
    """The state of pods that no watch shows any longer."""

    alive: list[tuple[Pod, LivePod]] = field(default_factory=list)
    """Pods whose container may still run."""
    gone: list[Pod] = field(default_factory=list)
    """Pods that do not exist, or have ended."""
    succeeded: list[Pod] = field(default_factory=list)
    """Gone pods that ended with success, and not because they were deleted."""
    ended: list[Pod] = field(default_factory=list)
    """The other gone pods that still exist."""

    @property
    def altered(self) -> list[tuple[Pod, LivePod]]:
        """The pods that may run and that no watch shows."""
        return [each for each in self.alive if _changes(each[1], each[0])]


async def ask_for(calls: Calls, plan: Plan, pods: Collection[Pod]) -> Whereabouts:
    """Read these pods by name. Raises ``ApiError``."""
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
    """Return True if that very pod exists and has not ended. Raises ``ApiError``."""
    live = await named(calls, pod.namespace, pod.name)
    return live is not None and live.live and live.metadata.uid == pod.uid


async def search(calls: Calls, plan: Plan, epoch: int) -> list[Pod]:
    """Return the pods of the namespace that have a member's name of the last epochs, up to ``epoch``, and may run.

    A daemon that has seen no gang of the experiment complete does not know what vanished before its time. It searches
    once. Raises ``ApiError``.
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
        attempt=attempt,
    )


def refusal_for(plan: Plan, found: Sequence[tuple[Pod, LivePod]], waits: str = NO_OTHER) -> Refusal | None:
    """Return the refusal for pods that may run unseen, with what ``waits`` for them; None without any."""
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
    """Return the marks of a member that the pod has lost; empty if it has all again, and the watch shows it."""
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
    name = live.metadata.name
    by_name = (member for member in plan.members() if plan.pod_name(member, epoch, attempt) == name)
    return plan.named(name, live.rank, epoch, attempt) or next(by_name, None)
