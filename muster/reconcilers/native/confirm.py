"""ConfirmLaunch, ConfirmLoss and ConfirmEnd: live reads of the API server, when a stale cache would be dangerous.

Caches may be stale: after a restart of the daemon, a relist or a lost event they can show an epoch that is over, or
hide pods that still run.

- ConfirmLaunch: before the first member of an epoch is created, one GET of the Experiment and one consistent LIST of
  its pods. A launch on stale facts would run two epochs at once. A status write of the same step replaces the GET.
  Members that run again within their epoch are read in the same way: no pod of another attempt of theirs may run.
- ConfirmLoss: before a gang is restarted because a member's pod is gone, one LIST counts the pods of the epoch. Ended
  pods count as present: they ended, they were not lost. So do ranks that are done, with or without a pod.
- In both, pods that are not in the LIST and have no known last state are asked for by name (``live_pods``).
- ConfirmEnd: before quota is given back, these pods alone are asked for.

The LIST has no resourceVersion, so the API server answers from its consistent state (kubernetes.io: "Kubernetes API
Concepts", semantics for get and list), page by page.
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from itertools import islice
from typing import Any

import msgspec
from msgspec import structs

from muster.api.errors import NotFound
from muster.api.names import LABEL_UID
from muster.api.values.rank_ranges import from_ranges
from muster.kinds.planning.run_object import from_object
from muster.kube.resources import Metadata, ask, core
from muster.reconcilers.native.live_pods import (
    KEEPS_QUOTA,
    LivePod,
    Pods,
    Whereabouts,
    ask_for,
    pages,
    refusal_for,
    search,
    unseen,
)
from muster.reconcilers.refs import path_of
from muster.reconcilers.requests.batch import Calls
from muster.reconcilers.result import Outcome
from muster.state.view.engine_facts import Refusal
from muster.state.vocabulary.actions import ConfirmEnd, ConfirmLaunch, ConfirmLoss
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Record
from muster.state.vocabulary.subject import EXPERIMENT

NAMED = 8
"""Most ranks that are named as lost."""


class _Spec(msgspec.Struct, frozen=True, gc=False):
    suspend: bool = False
    cancel: bool = False


class _Status(msgspec.Struct, frozen=True, gc=False):
    epoch: int = 0


class _Object(msgspec.Struct, frozen=True, gc=False):
    metadata: Metadata
    status: Any = None

    def wants(self, plan: Plan, epoch: int) -> bool:
        """Return True if this is the object of the plan, with the spec that it was made from, and of that epoch."""
        same = (self.metadata.uid, self.metadata.generation) == (plan.uid, plan.generation)
        record = from_object(self.status) if same and self.metadata.deletion_timestamp is None else None
        return record is not None and record.epoch == epoch


class _Experiment(msgspec.Struct, frozen=True, gc=False):
    metadata: Metadata
    spec: _Spec = _Spec()
    status: _Status | None = None

    def wants(self, plan: Plan, epoch: int) -> bool:
        """Return True if this is the Experiment of the plan, and is still to run that epoch."""
        persisted = self.status.epoch if self.status else 0
        leaving = self.spec.suspend or self.spec.cancel or self.metadata.deletion_timestamp is not None
        return self.metadata.uid == plan.uid and persisted == epoch and not leaving


async def confirm_launch(calls: Calls, action: ConfirmLaunch, plan: Plan, record: Record, written: int) -> Outcome:
    """Ask the API server whether the epoch may start. If not, the caches will show why.

    ``written`` is the resourceVersion of the status write of this very step, 0 if there was none. It replaces the GET
    of the owner: it was made under the resourceVersion of the decision, and would have failed if the Experiment had
    changed since. So at that instant the Experiment existed with this uid and spec and no deletionTimestamp, and its
    record is the one of the decision.
    """
    owner = written or await _owner(calls, action, plan)
    if not owner:
        return Outcome(confirmed=False)
    if plan.watching.rivals and (rival := await _rival(calls, plan)):
        return Outcome(confirmed=False, refusal=_other_controller(plan, rival))
    version, present, again = 0, done(plan, record), dict(action.attempts)
    blocked = False
    async for page in pages(calls, plan):
        version = max((version, *(pod.metadata.version for pod in page)))
        present |= {pod.rank for pod in page if pod.epoch == action.epoch}
        blocked = blocked or any(pod.live and _precedes(pod, action.epoch, again) for pod in page)
    looked = Whereabouts()
    if not blocked:
        vanished = [*action.vanished, *(await search(calls, plan, action.epoch) if action.search else ())]
        looked = await ask_for(calls, plan, vanished)
    older = [each for each in looked.alive if _precedes(each[0], action.epoch, again)]
    return replace(
        _found(looked),
        version=version,
        confirmed=not (blocked or older),
        attempts=action.attempts,
        owner=owner,
        launched=len(present) >= plan.together,
        searched=action.search and not blocked,
        refusal=refusal_for(plan, [each for each in looked.altered if each in older]),
    )


def _precedes(pod: LivePod | Pod, epoch: int, again: Mapping[int, int]) -> bool:
    """Return True if the pod is of another epoch, or of another attempt of a member that is to run again."""
    return pod.epoch != epoch or pod.attempt != again.get(pod.rank, pod.attempt)


async def _owner(calls: Calls, action: ConfirmLaunch, plan: Plan) -> int:
    """Return the resourceVersion of the plan's object if it exists and is still to run that epoch, else 0."""
    kind: type[_Experiment | _Object] = _Experiment if plan.subject == EXPERIMENT else _Object
    try:
        owner = await ask(calls.do, "GET", path_of(plan), kind)
    except NotFound:
        return 0
    return owner.metadata.version if owner.wants(plan, action.epoch) else 0


async def _rival(calls: Calls, plan: Plan) -> str:
    """Return the name of a pod that another controller has made for the plan's object; empty if there is none."""
    which = {"labelSelector": plan.watching.rivals}
    page = await ask(calls.do, "GET", core(plan.namespace, "pods"), Pods, params=which)
    for pod in page.items or ():
        owner = pod.metadata.controller
        if owner is not None and owner.uid == plan.uid and LABEL_UID not in (pod.metadata.labels or {}):
            return pod.metadata.name
    return ""


def _other_controller(plan: Plan, rival: str) -> Refusal:
    subject = plan.subject
    return Refusal(
        "OtherController",
        f"Pod {plan.namespace}/{rival} of this {subject.kind} was made by another controller, so Muster makes none "
        f"beside it. Only one of them may run {subject.kind} objects: take {subject.plural} out of musterd's setting "
        f"run-kinds, or start the other controller without that kind and delete its pods.",
        final=False,
    )


async def confirm_loss(calls: Calls, action: ConfirmLoss, plan: Plan, record: Record) -> Outcome:
    """Ask the API server whether the pods of these ranks are gone.

    Without ranks: whether the epoch has fewer pods than members that run together.
    """
    version, present = 0, done(plan, record)
    lives: set[tuple[int, int]] = set()
    async for page in pages(calls, plan):
        version = max((version, *(pod.metadata.version for pod in page)))
        present |= {pod.rank for pod in page if pod.epoch == action.epoch}
        if action.attempts:
            lives |= {(pod.rank, pod.attempt) for pod in page if pod.epoch == action.epoch}
    looked = await ask_for(calls, plan, list(_missing(action, plan, record, present, lives)))
    here = {(pod.rank, pod.attempt) for pod in (*(pod for pod, _ in looked.alive), *looked.succeeded)}
    if action.attempts:
        gone = tuple(each for each in action.attempts if each not in lives | here)
        refusal = refusal_for(plan, looked.altered)
        return replace(_found(looked), version=version, lost_attempts=gone, refusal=refusal)
    present |= {rank for rank, _ in here}
    lost = not present.issuperset(action.ranks) if action.ranks else len(present) < plan.together
    ranks = action.ranks or (() if plan.sequential else range(plan.size))
    return replace(
        _found(looked),
        version=version,
        lost=lost,
        lost_ranks=tuple(islice((rank for rank in ranks if rank not in present), NAMED)) if lost else (),
        refusal=None if lost else refusal_for(plan, looked.altered),
    )


async def confirm_end(calls: Calls, action: ConfirmEnd, plan: Plan) -> Outcome:
    """Ask the API server whether unseen pods have ended."""
    found = await search(calls, plan, action.epoch) if action.search else []
    known = {pod.uid for pod in action.vanished}
    looked = await ask_for(calls, plan, [*action.vanished, *(pod for pod in found if pod.uid not in known)])
    return replace(
        _found(looked),
        searched=action.search,
        refusal=refusal_for(plan, looked.altered, KEEPS_QUOTA),
        ahead=len(looked.alive) > len(looked.altered),
    )


def _missing(
    action: ConfirmLoss, plan: Plan, record: Record, present: Set[int], lives: Set[tuple[int, int]]
) -> Iterator[Pod]:
    """Yield the pods of the epoch that are not in the list, for the ranks in question."""
    known = {(pod.rank, pod.attempt): pod for pod in action.vanished}
    ranks = action.ranks or range(plan.size)
    absent = ((rank, record.attempt_of(rank)) for rank in ranks if rank not in present)
    for rank, attempt in action.attempts or absent:
        if (rank, attempt) not in lives and (member := plan.member(rank)):
            yield known.get((rank, attempt)) or unseen(plan, member, action.epoch, attempt)


def _found(looked: Whereabouts) -> Outcome:
    altered = tuple(structs.replace(pod, uid=live.metadata.uid) for pod, live in looked.altered)
    ended, succeeded = tuple(looked.ended), tuple(looked.succeeded)
    return Outcome(gone=tuple(looked.gone), altered=altered, ended=ended, succeeded=succeeded)


def done(plan: Plan, record: Record) -> set[int]:
    """Return the ranks that are done in the record's epoch, and so need no pod."""
    return set(from_ranges(record.completed, plan.size))
