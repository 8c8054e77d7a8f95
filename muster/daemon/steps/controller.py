"""The controller: carries one experiment through one step, in the order that ``muster.state.decide.machine`` asks for.

A step decides, persists the record under the resourceVersion it was read with, records Events, carries the actions out
and sets a timer for the next step. Between two steps of one experiment the caches must have caught up with our own
writes (``tracking.entry``).
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from math import inf
from typing import Any

import structlog

from muster.api.errors import ApiError, Conflict, NotFound, Throttled
from muster.daemon.event_recorder import EventRecorder
from muster.daemon.experiments.index import ExperimentIndex
from muster.daemon.informers import Informers
from muster.daemon.prober_pool import ProberPool, private
from muster.daemon.remarks import RemarkReader
from muster.daemon.steps.outcomes import Leftovers, Outcomes
from muster.daemon.steps.status_writer import StatusWriter, with_own_status
from muster.daemon.steps.watched import WatchedSteps
from muster.kube.fair_share import FairShare
from muster.kube.transport import Transport
from muster.kube.workqueue import WorkQueue
from muster.metrics.instruments import Instruments
from muster.reconcilers.native.engine import NativeEngine
from muster.reconcilers.requests.refusals import refusal_of
from muster.state.decide.machine import Decision, decide
from muster.state.facts import admission
from muster.state.policies.refusal import READ_PODS
from muster.state.summary.history import halt, refuse
from muster.state.view.engine_facts import LiveRead
from muster.state.view.roll import RollAnswer
from muster.state.vocabulary.actions import ConfirmEnd, ConfirmLaunch, ConfirmLoss, CreatePods, DeletePods
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Phase
from muster.state.vocabulary.transitions import IllegalTransition
from muster.tracking.entry import Entry, Readiness
from muster.watchers.probes.bounded.connection import in_turns

log = structlog.get_logger()

LAST_LOOK = 0.2
"""Seconds for which the end of an epoch waits for the last reports of its programs."""
LIVE_READ_PAUSE = 1.0
"""Seconds between live reads that leave the decision open, because the wall clock or the API server went back."""
RESYNC = 60.0
"""Seconds after which an unfinished experiment is decided again, whatever its timers and events are."""


@dataclass(eq=False)
class Controller:
    """The owner of the steps of all experiments. The queue never runs two steps of one experiment at once."""

    transport: Transport
    share: FairShare
    index: ExperimentIndex
    queue: WorkQueue
    informers: Informers
    engine: NativeEngine
    probers: ProberPool
    recorder: EventRecorder
    instruments: Instruments
    clock: Callable[[], float]
    monotonic: Callable[[], float]
    watched_synced: Callable[[str], bool]
    """Returns True once objects and pods of a watched kind have had their first list."""
    heard_since: Callable[[Entry], float]
    """Returns the wall time since which this daemon receives the reports of a run's members."""
    remarks: RemarkReader
    _waiting: set[str] = field(default_factory=set)
    """Experiments that wait for the caches to catch up with our writes."""

    def __post_init__(self) -> None:
        self._writer = StatusWriter(
            self.transport, self.share, self.recorder, self.instruments, self.informers.list_again
        )
        self._outcomes = Outcomes(self.queue, self.instruments, self.clock)
        self._leftovers = Leftovers(self.index, self.queue, self.engine, self.monotonic)
        self._watched = WatchedSteps(
            self.transport,
            self.share,
            self.recorder,
            self.instruments,
            self._outcomes,
            self.clock,
            self._decide,
            self._await_next,
            self.remarks,
        )

    def step(self, uid: str) -> Coroutine[Any, Any, None] | None:
        """Decide one step. Return what is left to do: the requests, if any follow from the decision.

        The coroutine raises the ``ApiError`` that kept it from finishing. It may begin a little after the decision, and
        does nothing if the record has changed since, because that change has requeued the experiment.
        """
        entry = self.index.get(uid)
        if entry is None:
            return self._leftovers.collect(uid) or self._release(uid)
        if entry.watched is not None:
            if self.informers.synced and self.watched_synced(entry.watched.name):
                return self._watched.step(entry, entry.watched)
            self._waiting.add(uid)
            return None
        self._leftovers.back(uid)
        if self._readiness(entry) is Readiness.WAIT:
            self._waiting.add(uid)
            return None
        self._writer.settle(entry)
        if entry.plan is None:
            return self._refuse(entry, entry.freshness.version)
        if self._readiness(entry) is Readiness.READ_PODS:
            return self._read_pods(entry, entry.plan)
        decision = self._decide(entry, entry.plan)
        self.remarks.follow(entry)
        if decision.read_first and not decision.write:
            return self._read_pods(entry, entry.plan)
        if _ends_reports(entry, decision):
            return self._look_last(entry)
        if decision.write or decision.actions:
            return self._follow(entry, entry.plan, decision, entry.freshness.version)
        self._await_next(entry.plan, decision)
        if not decision.held:
            self._outcomes.accepted(entry)
            self._outcomes.answered(entry)
        return None

    def changed(self, uid: str) -> None:
        """Requeue an experiment that has changed, and stop creates that are no longer wanted."""
        if self.engine.creating(uid):
            entry = self.index.get(uid)
            if entry is not None and entry.plan is not None and not _wanted(entry, entry.plan):
                self.engine.stop_creating(uid)
        self.queue.add(uid)

    def caught_up(self) -> None:
        """Requeue the experiments that waited for a cache to advance."""
        waiting, self._waiting = self._waiting, set()
        for uid in waiting:
            self.queue.add(uid)

    def gone(self, uid: str) -> None:
        """Delete the pods of an Experiment that is about to leave the index, if it may have any."""
        self.engine.stop_creating(uid)
        entry = self.index.get(uid)
        if entry is None or entry.plan is None or entry.watched is not None:
            return
        engine = entry.view.engine
        if entry.view.epochs or engine.confirmed >= 0 or engine.vanished:
            vanished = (pod for pod in engine.vanished.values() if not pod.terminating)
            self._leftovers.add(entry.plan, tuple(pod for pod in vanished if not engine.delete_accepted(pod, None)))

    def stand_by(self) -> None:
        """Leave the pods of Experiments that are gone to the garbage collector: this daemon leads no longer."""
        self._leftovers.clear()

    async def heard(self, uid: str, epoch: int, answer: RollAnswer) -> None:
        """Take in the answer of a coordinator."""
        entry = self.index.get(uid)
        if entry is None:
            return
        answer = private(answer, entry.plan)
        if await in_turns(entry.view.observe_in_turns(answer, epoch)):
            self.queue.add(uid)

    def failed(self, uid: str, error: Exception) -> float | None:
        """Log a step that was not finished. Return the seconds to wait before the next try, if the error names them."""
        entry = self.index.get(uid)
        which = {"namespace": entry.seen.namespace, "experiment": entry.title} if entry else {}
        which["uid"] = uid
        match error:
            case Conflict():
                log.info("conflict, retrying", **which, error=str(error))
            case ApiError():
                log.warning("step not finished", **which, error=str(error))
            case IllegalTransition(record=record, story=story):
                lines = [f"{line.reason}: {line.message}" for line in story]
                log.error("step failed", **which, epoch=record.epoch, story=lines, exc_info=error)
            case _:
                log.error("step failed", **which, exc_info=error)
        return error.retry_after if isinstance(error, Throttled) else None

    def _release(self, uid: str) -> Coroutine[Any, Any, None] | None:
        if self.informers.synced:
            return self._leftovers.release(uid)
        self._waiting.add(uid)
        return None

    def _readiness(self, entry: Entry) -> Readiness:
        if not self.informers.synced or (_queued(entry) and not self.informers.workloads_known):
            return Readiness.WAIT
        if self.informers.queue_problem:
            entry.freshness.workloads_due = 0  # no watch will bring it
        return entry.freshness.ready(
            seen=entry.seen.resource_version,
            pods=self.informers.pods_version,
            workloads=self.informers.workloads_version,
            live_read=entry.view.engine.live_read,
        )

    def _decide(self, entry: Entry, plan: Plan) -> Decision:
        started = self.monotonic()
        now = self.clock()  # reading the clock may find a step of it, and change the entry
        if _queued(entry) or plan.watching.local_queue:
            unread = "" if self.informers.workloads_known else "the Workloads of Kueue have not been read yet"
            entry.view.queue_problem = self.informers.queue_problem or unread
        entry.view.admission = self.index.admission_of(entry)
        if entry.record is not None:
            entry.view.hear(entry.record, now, self.heard_since(entry))
        decision = decide(plan, entry.record, entry.view, now, step=entry.step)
        if entry.of_run_kind:
            decision = with_own_status(entry, plan, decision, now)
        self.instruments.decision(self.monotonic() - started)
        return decision

    async def _follow(self, entry: Entry, plan: Plan, decision: Decision, version: int) -> None:
        """Persist the record and carry the actions out. ``version`` is the version that the decision was based on."""
        if entry.freshness.version != version:
            return
        written = 0
        stale = (
            decision.deletes_newer_pods and not plan.lifecycle.deleting
        )  # a deletion is never undone, and has no record
        if decision.write or stale:
            if not await self._persist(entry, decision):
                self._await_kind(plan, decision)
                return
            if entry.record is decision.record:  # else the watch has brought a newer one already
                written = entry.freshness.version
        self._await_next(plan, decision)
        if decision.read_first:
            await self._read_pods(entry, plan)
            return
        for action in decision.actions:
            began = self.clock()
            outcome = await self.engine.carry_out(action, plan, decision.record, written, version)
            self._outcomes.fold(entry, outcome, decision.record.epoch)
            if outcome.unwanted:
                return  # the change that stopped it has requeued the experiment
            if isinstance(action, CreatePods) and outcome.refusal is None and outcome.error is None:
                entry.view.mark_created(action.epoch, (member.rank for member in action.members), plan.together)
            if isinstance(action, DeletePods):
                entry.view.mark_deleting(outcome.deleted, action.grace)
            entry.view.mark_stopping(outcome.stopped)
            if outcome.error is not None:
                raise outcome.error
            if outcome.refusal is not None:
                self._outcomes.refused(entry, outcome.refusal, type(action).__name__, began)
                return  # actions build on each other: no member starts without the Service that names it
        if not decision.held:
            self._outcomes.accepted(entry)
            if not any(isinstance(action, ConfirmLaunch | ConfirmLoss | ConfirmEnd) for action in decision.actions):
                self._outcomes.answered(entry)

    async def _read_pods(self, entry: Entry, plan: Plan) -> None:
        """Read the pods past the cache and requeue: at once, or after a pause if the last read was not enough."""
        at, last, refused = self.clock(), entry.view.engine.live_read, entry.view.engine.refused
        if refused is not None and refused.action == READ_PODS and at < refused.retry_at:
            self.queue.add_in(plan.uid, refused.retry_at - at)
            return
        try:
            async with self.share.of(plan.namespace, plan.uid):
                at = self.clock()
                version = await self.informers.read_live(plan, entry.view)
        except ApiError as error:
            if refusal := refusal_of(error, plan):
                self._outcomes.refused(entry, refusal, READ_PODS, at)
                return
            raise
        self._outcomes.accepted(entry)
        if version is None:
            self.queue.add_in(plan.uid, LIVE_READ_PAUSE)
            return
        entry.view.engine.live_read = LiveRead(at, version)
        again = last is not None and abs(at - last.at) < 2 * LIVE_READ_PAUSE  # twice: the last read may have paused too
        self.queue.add_in(plan.uid, LIVE_READ_PAUSE if again else 0.0)

    async def _look_last(self, entry: Entry) -> None:
        """Read the last reports of an epoch, once and for a moment, and decide again.

        They count the epoch's time, and are lost with its processes.
        """
        entry.looked = entry.freshness.version
        await self.probers.last_look(entry.seen.uid, LAST_LOOK)
        self.queue.add(entry.seen.uid)

    def _await_next(self, plan: Plan, decision: Decision) -> None:
        """Probe the coordinator that the decision names, and requeue the experiment when the decision is due again."""
        self.probers.aim(plan.uid, decision.probe)
        wait = inf if decision.wake_at is None else decision.wake_at - self.clock()
        if not decision.record.finished or decision.wake_at is not None:
            wait = min(wait, RESYNC)
        if wait < inf:
            self.queue.add_in(plan.uid, wait)

    def _await_kind(self, plan: Plan, decision: Decision) -> None:
        """Requeue an experiment whose object is not found, and keep probing its coordinator.

        If it was deleted, the watch reports that. But its kind may not be served for a while, which nothing reports.
        """
        if self.index.get(plan.uid) is not None:
            self.probers.aim(plan.uid, decision.probe)
            self.queue.add_in(plan.uid, RESYNC)

    async def _refuse(self, entry: Entry, version: int) -> None:
        """Fail an experiment that cannot be planned, unless it has begun: then its pods are left as they are."""
        seen = entry.seen
        if entry.freshness.version != version:
            return
        if entry.unreadable or entry.record is not None:
            which = {"namespace": seen.namespace, "experiment": entry.title, "uid": seen.uid}
            log.warning("experiment cannot be read", **which, problem=entry.problem)
        if entry.unreadable or seen.deleting:
            return
        if entry.record is None:
            record = refuse(seen.generation, entry.problem, self.clock())
        elif (halted := halt(entry.record, seen.generation, entry.problem, self.clock())) is not None:
            record = halted
        else:
            return
        await self._writer.write(entry, record, record.story[-1:])

    async def _persist(self, entry: Entry, decision: Decision) -> bool:
        if decision.paid:
            entry.view.writes.spend(self.clock())
        try:
            await self._writer.write(entry, decision.record, decision.story, decision.moved)
        except NotFound:
            return False
        return True


def _queued(entry: Entry) -> bool:
    return entry.plan is not None and (entry.plan.queue is not None or bool(entry.view.workloads))


def _ends_reports(entry: Entry, decision: Decision) -> bool:
    """Return True if the decision ends a gang whose store was not yet asked for its last reports."""
    before, after = entry.record, decision.record
    if before is None or before.phase is not Phase.RUNNING or entry.looked == entry.freshness.version:
        return False
    known = entry.view.progress_of(before.epoch)
    return (after.phase, after.epoch) != (before.phase, before.epoch) and known is not None and not known.sent


def _wanted(entry: Entry, plan: Plan) -> bool:
    """Return True if the pods are wanted: no cancel, suspension or deletion, and a queue still admits them."""
    return plan.wanted and admission.admitted(plan, entry.view)
