"""Puts the outcomes of requests into an experiment's entry, and requeues it if the next decision changes.

A refusal is an error that an immediate retry does not change: quota, policy, rights. It is kept until the API server
accepts the request.
"""

from collections.abc import Callable

import structlog

from muster.kube.workqueue import WorkQueue
from muster.metrics.instruments import Instruments
from muster.reconcilers.result import Outcome
from muster.state.view.engine_facts import Refusal
from muster.tracking.entry import Entry

log = structlog.get_logger()


class Outcomes:
    """The outcomes of every experiment's requests. ``clock`` gives wall seconds since 1970."""

    def __init__(self, queue: WorkQueue, instruments: Instruments, clock: Callable[[], float]) -> None:
        self._queue = queue
        self._instruments = instruments
        self._clock = clock

    def refused(self, entry: Entry, refusal: Refusal, action: str, began: float) -> None:
        """Keep what the API server refused, for the next decision, and try again after its pause."""
        engine, now = entry.view.engine, self._clock()
        before = engine.refusal
        engine.refuse(refusal, action, began, now)
        self._instruments.refused(refusal.reason)
        if before is None or engine.refusal is None or before.reason != engine.refusal.reason:
            which = {"namespace": entry.seen.namespace, "experiment": entry.title, "uid": entry.seen.uid}
            log.warning("request refused", **which, reason=refusal.reason, problem=refusal.message)
        if engine.refusal != before:
            self._queue.add(entry.seen.uid)
        if engine.refused is not None:
            self._queue.add_in(entry.seen.uid, engine.refused.retry_at - now)

    def accepted(self, entry: Entry) -> None:
        """Drop the refusal, because the API server refuses nothing any longer."""
        engine = entry.view.engine
        if engine.refusal is not None:
            self._queue.add(entry.seen.uid)
        engine.accept()

    def answered(self, entry: Entry) -> None:
        """Note that all actions of a decision were done, so that a refusal in the record is over."""
        if not entry.view.engine.answered:
            entry.view.engine.answered = True
            self._queue.add(entry.seen.uid)

    def fold(self, entry: Entry, outcome: Outcome, epoch: int) -> None:
        """Put the result of an action into the view, and requeue the experiment if it changes the next decision.

        ``epoch`` is that of the decision: the watch may have brought a record of the next epoch meanwhile.
        """
        uid, view = entry.seen.uid, entry.view
        entry.freshness.wrote_pods(outcome.version)
        if outcome.confirmed is not None:
            if outcome.launched:
                view.engine.launched = epoch
            if outcome.confirmed and outcome.owner <= entry.freshness.version:
                view.engine.confirmed = epoch
                view.engine.confirmed_attempts |= {(epoch, *each) for each in outcome.attempts}
                self._queue.add(uid)
            else:
                self._queue.add_in(uid, 1.0)
        view.look_for_vanished(outcome.gone, outcome.altered, outcome.succeeded)
        if outcome.ended:
            view.engine.ended_vanished = frozenset(pod.uid for pod in outcome.ended)
        if outcome.searched:
            view.engine.searched = True
        if outcome.gone or outcome.searched:
            self._queue.add(uid)
        if outcome.lost:
            view.engine.lost, view.engine.lost_ranks = epoch, outcome.lost_ranks
            self._queue.add(uid)
        if outcome.removed:
            view.engine.removed = True
        if outcome.lost_attempts:
            view.engine.lost_attempts.update(((epoch, *each), None) for each in outcome.lost_attempts)
            self._queue.add(uid)
        if outcome.claims is not None:
            view.engine.claims, view.engine.volume_gone = outcome.claims, -1
            self._queue.add(uid)
        if outcome.volume_gone:
            view.engine.volume_gone = epoch
            self._queue.add(uid)
        if outcome.service:
            view.engine.service = True
        entry.freshness.wrote_workload(outcome.workloads)
        if outcome.placement is not None:
            view.engine.placement = outcome.placement
            self._queue.add(uid)
        if outcome.ahead:
            self._queue.add_in(uid, 1.0)
