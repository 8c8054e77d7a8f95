"""Outcomes of requests in an experiment's entry, and the leftovers of one that is gone."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import structlog

from muster.api.errors import ApiError
from muster.daemon.experiments.index import ExperimentIndex
from muster.kube.workqueue import WorkQueue
from muster.metrics.instruments import Instruments
from muster.reconcilers.native.engine import NativeEngine
from muster.reconcilers.result import Outcome
from muster.state.view.engine_facts import Refusal
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.workload import Workload
from muster.tracking.entry import Entry

log = structlog.get_logger()


@dataclass(eq=False)
class Outcomes:
    """Puts the outcomes of requests into an experiment's entry, and requeues it if the next decision changes.

    A refusal is an error that an immediate retry does not change: quota, policy, rights. It is kept until the API
    server accepts the request. ``clock`` gives wall seconds since 1970.
    """

    queue: WorkQueue
    instruments: Instruments
    clock: Callable[[], float]

    def refused(self, entry: Entry, refusal: Refusal, action: str, began: float) -> None:
        """Keep what the API server refused, for the next decision, and try again after its pause."""
        engine, now = entry.view.engine, self.clock()
        before = engine.refusal
        engine.refuse(refusal, action, began, now)
        self.instruments.refused(refusal.reason)
        if before is None or engine.refusal is None or before.reason != engine.refusal.reason:
            log.warning("request refused", **_which(entry), reason=refusal.reason, problem=refusal.message)
        if engine.refusal != before:
            self.queue.add(entry.seen.uid)
        if engine.refused is not None:
            self.queue.add_in(entry.seen.uid, engine.refused.retry_at - now)

    def accepted(self, entry: Entry) -> None:
        """Drop the refusal, because the API server refuses nothing any longer."""
        engine = entry.view.engine
        if engine.refusal is not None:
            self.queue.add(entry.seen.uid)
        engine.accept()

    def answered(self, entry: Entry) -> None:
        """Note that all actions of a decision were done, so that a refusal in the record is over."""
        if not entry.view.engine.answered:
            entry.view.engine.answered = True
            self.queue.add(entry.seen.uid)

    def fold(self, entry: Entry, outcome: Outcome, epoch: int) -> None:
        """Put the result of an action into the view, and requeue the experiment if it changes the next decision.

        ``epoch`` is that of the decision: the watch may have brought a record of the next epoch meanwhile.
        """
        uid, view = entry.seen.uid, entry.view
        entry.freshness.wrote(outcome.version, outcome.workloads)
        if outcome.confirmed is not None:
            if outcome.launched:
                view.engine.launched = epoch
            if outcome.confirmed and outcome.owner <= entry.freshness.version:
                view.engine.confirmed = epoch
                view.engine.confirmed_attempts |= {(epoch, *each) for each in outcome.attempts}
                self.queue.add(uid)
            else:
                self.queue.add_in(uid, 1.0)
        view.look_for_vanished(outcome.gone, outcome.altered, outcome.succeeded)
        if outcome.ended:
            view.engine.ended_vanished = frozenset(pod.uid for pod in outcome.ended)
        if outcome.searched:
            view.engine.searched = True
        if outcome.gone or outcome.searched:
            self.queue.add(uid)
        if outcome.lost:
            view.engine.lost, view.engine.lost_ranks = epoch, outcome.lost_ranks
            self.queue.add(uid)
        if outcome.removed:
            view.engine.removed = True
            rule = "its own ttl" if entry.record is None or entry.record.retention is None else "setting retention"
            log.info("deleted, because the time after its end is over", **_which(entry), rule=rule)
        if outcome.lost_attempts:
            view.engine.lost_attempts.update(((epoch, *each), None) for each in outcome.lost_attempts)
            self.queue.add(uid)
        if outcome.claims is not None:
            view.engine.claims, view.engine.volume_gone = outcome.claims, -1
            self.queue.add(uid)
        if outcome.volume_gone:
            view.engine.volume_gone = epoch
            self.queue.add(uid)
        if outcome.service:
            view.engine.service = True
        if outcome.placement is not None:
            view.engine.placement = outcome.placement
            self.queue.add(uid)
        if outcome.ahead:
            self.queue.add_in(uid, 1.0)


def _which(entry: Entry) -> dict[str, str]:
    return {"namespace": entry.seen.namespace, "experiment": entry.title, "uid": entry.seen.uid}


COLLECT_FOR = 300.0
"""Seconds for which the pods of an Experiment that is gone are to be deleted. The garbage collector does so, too."""
ASKED_AFTER = 5.0
"""Seconds after which vanished pods that may run are read again."""


@dataclass(eq=False)
class Leftovers:
    """The gone Experiments whose pods are to be deleted, and whose Workloads are to be released.

    The garbage collector deletes the pods as well, but later, and may miss a pod that was created after it looked.
    Pods that vanished from the watch without a last state may run: while the Workload of their Experiment waits for
    their end, they are read by name.
    """

    index: ExperimentIndex
    queue: WorkQueue
    engine: NativeEngine
    monotonic: Callable[[], float]
    _gone: dict[str, tuple[Plan, tuple[Pod, ...], float]] = field(default_factory=dict)
    """By uid: the plan, the vanished pods, and the time until which all pods are to be deleted."""

    def add(self, plan: Plan, vanished: tuple[Pod, ...] = ()) -> None:
        """Queue the deletion of a gone Experiment's pods, and of those that no watch shows any longer."""
        self._gone[plan.uid] = plan, vanished, self.monotonic() + COLLECT_FOR
        self.queue.add(plan.uid)

    def back(self, uid: str) -> None:
        """Cancel the deletion, because the Experiment exists again: the watch was opened on a server that lags."""
        self._gone.pop(uid, None)

    def clear(self) -> None:
        """Leave all pods to the garbage collector."""
        for uid in self._gone:
            self.queue.forget(uid)
        self._gone.clear()

    def collect(self, uid: str) -> Coroutine[Any, Any, None] | None:
        """Return the deletion of that Experiment's pods; None if there is nothing to do."""
        return self._collect(*self._gone[uid]) if uid in self._gone else None

    def release(self, uid: str) -> Coroutine[Any, Any, None] | None:
        """Return the release of the Workloads of a gone Experiment, once none of its pods runs; None without any."""
        if vanished := self.index.vanished(uid):
            return self._await_end(uid, vanished)
        found = self.index.orphans(uid)
        return self._let_go(found) if found else None

    async def _collect(self, plan: Plan, vanished: tuple[Pod, ...], until: float) -> None:
        try:
            await self.engine.collect(plan, vanished)
        except ApiError as error:
            passing = error.status in (0, 410, 429) or error.status >= 500
            if self.monotonic() < until and (passing or vanished):  # the garbage collector misses ownerless ones
                raise
            which = {"namespace": plan.namespace, "experiment": plan.title, "uid": plan.uid}
            log.warning("pods of a deleted experiment left to the garbage collector", **which, error=str(error))
        self._gone.pop(plan.uid, None)
        if self.index.vanished(plan.uid) or self.index.orphans(plan.uid):
            self.queue.add(plan.uid)

    async def _await_end(self, uid: str, vanished: list[Pod]) -> None:
        ended = await self.engine.ended(vanished)
        self.index.ended(uid, ended)
        self.queue.add_in(uid, ASKED_AFTER if len(ended) < len(vanished) else 0.0)

    async def _let_go(self, workloads: list[Workload]) -> None:
        for workload in workloads:
            await self.engine.release(workload)
