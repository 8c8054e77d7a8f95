"""The conductor: carries one experiment through one step, in the order that ``state.machine`` asks for.

Decide; persist the record under the resourceVersion it was read with; carry the actions out; tell the story; come
back when something changes or the clock says so. Between two steps of one experiment the caches must have caught up
with our own writes.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import structlog

from daemon.announcer import Announcer
from daemon.probing import Probing
from daemon.queue import Queue
from daemon.roster import Entry, Roster
from metrics.instruments import Instruments
from muster.api.errors import ApiError, Conflict, NotFound, Throttled
from muster.api.wire import Transport
from reconcilers.native.engine import NativeEngine
from reconcilers.outcome import Outcome
from reconcilers.refs import ExperimentRef
from reconcilers.status import write_status
from state.actions import Action, CreatePods, EnsureService
from state.machine import Decision, decide
from state.plan import Plan
from state.record import Line, Record
from state.refused import refuse
from state.roll import RollAnswer
from state.status import to_status

log = structlog.get_logger()

REFUSED_PAUSE = 5.0
"""Seconds before something the API server refused (quota, admission) is tried again."""


class Caches(Protocol):
    """How far the watch caches have come."""

    @property
    def synced(self) -> bool: ...

    @property
    def pods_version(self) -> int: ...


class Conductor:
    """Owns the steps of all experiments; the queue sees to it that no experiment is in two steps at once."""

    def __init__(
        self,
        *,
        transport: Transport,
        roster: Roster,
        queue: Queue,
        caches: Caches,
        engine: NativeEngine,
        probing: Probing,
        announcer: Announcer,
        instruments: Instruments,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
    ) -> None:
        self._transport = transport
        self._roster = roster
        self._queue = queue
        self._caches = caches
        self._engine = engine
        self._probing = probing
        self._announcer = announcer
        self._instruments = instruments
        self._clock = clock
        self._monotonic = monotonic
        self._waiting: set[str] = set()
        """Experiments that wait for the caches to catch up with what we wrote."""

    async def step(self, uid: str) -> None:
        """One step of one experiment. Raises the ``ApiError`` that kept it from being finished."""
        entry = self._roster.get(uid)
        if entry is None:
            return
        if not self._caches.synced or entry.behind or self._caches.pods_version < entry.pods_due:
            self._waiting.add(uid)
            return
        if entry.plan is None:
            await self._refuse(entry)
        else:
            await self._follow(entry, entry.plan, self._decide(entry, entry.plan))

    def caught_up(self) -> None:
        """A cache has come further: whoever waited for that gets a turn."""
        waiting, self._waiting = self._waiting, set()
        for uid in waiting:
            self._queue.add(uid)

    def heard(self, uid: str, epoch: int, answer: RollAnswer) -> None:
        """Take in what a coordinator answered."""
        entry = self._roster.get(uid)
        if entry is not None and entry.view.hear(answer, epoch):
            self._queue.add(uid)

    def failed(self, uid: str, error: Exception) -> float | None:
        """Log a step that was not finished. The seconds to wait before it is tried again, if the error says."""
        entry = self._roster.get(uid)
        name = entry.seen.name if entry else uid
        match error:
            case Conflict():
                log.info("somebody else wrote first", experiment=name, error=str(error))
            case ApiError():
                log.warning("step not finished", experiment=name, error=str(error))
            case _:
                log.error("step failed", experiment=name, exc_info=error)
        return error.retry_after if isinstance(error, Throttled) else None

    def _decide(self, entry: Entry, plan: Plan) -> Decision:
        started = self._monotonic()
        decision = decide(plan, entry.record, entry.view, self._clock())
        self._instruments.decision(self._monotonic() - started)
        return decision

    async def _follow(self, entry: Entry, plan: Plan, decision: Decision) -> None:
        ref = ExperimentRef(plan.namespace, plan.name, plan.uid)
        if decision.write and not await self._persist(entry, plan, ref, decision):
            return
        self._probing.aim(plan.uid, decision.probe)
        if decision.wake_at is not None:
            self._queue.add_in(plan.uid, decision.wake_at - self._clock())
        for action in decision.actions:
            self._fold(entry, action, await self._engine.carry_out(action, plan, decision.record))

    async def _refuse(self, entry: Entry) -> None:
        """Fail an experiment that cannot be planned, unless it has begun: then its pods are left as they are."""
        seen = entry.seen
        if entry.unreadable or entry.record is not None:
            log.warning("experiment cannot be read", experiment=seen.name, problem=entry.problem)
            return
        record = refuse(seen.generation, entry.problem, self._clock())
        ref = ExperimentRef(seen.namespace, seen.name, seen.uid)
        entry.version = await write_status(self._transport, ref, to_status(record), entry.version)
        entry.record = record
        self._announcer.tell(ref, record.story)

    async def _persist(self, entry: Entry, plan: Plan, ref: ExperimentRef, decision: Decision) -> bool:
        before = entry.record
        try:
            version = await write_status(self._transport, ref, to_status(decision.record), entry.version)
        except NotFound:
            return False  # deleted meanwhile; the watch will say so
        entry.record, entry.version = decision.record, version
        self._instruments.transition(plan, before, decision.record)
        self._announcer.tell(ref, decision.story)
        _log_story(plan, decision.record, decision.story)
        return True

    def _fold(self, entry: Entry, action: Action, outcome: Outcome) -> None:
        """Put what came of an action into the view, and look again at once if it changes the picture."""
        uid, view = entry.seen.uid, entry.view
        entry.pods_due = max(entry.pods_due, outcome.version)
        record = entry.record
        if outcome.confirmed is not None and record is not None:
            if outcome.confirmed:
                view.confirmed = record.epoch
                self._queue.add(uid)
            else:
                self._queue.add_in(uid, 1.0)
        if outcome.lost and record is not None:
            view.lost = record.epoch
            self._queue.add(uid)
        if outcome.service:
            view.service = True
        if isinstance(action, CreatePods | EnsureService) and outcome.refusal != view.refusal:
            view.refusal = outcome.refusal
            self._queue.add(uid)
        if outcome.refusal is not None:
            self._queue.add_in(uid, REFUSED_PAUSE)


def _log_story(plan: Plan, record: Record, lines: Sequence[Line]) -> None:
    for line in lines:
        log.info(
            line.message,
            experiment=plan.name,
            namespace=plan.namespace,
            phase=record.phase.value,
            epoch=line.epoch,
            reason=line.reason,
        )
