"""The conductor: carries one experiment through one step, in the order that ``muster.state.machine`` asks for.

Decide; persist the record under the resourceVersion it was read with; carry the actions out; tell the story; come
back when something changes or the clock says so. Between two steps of one experiment the caches must have caught up
with our own writes.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import structlog

from muster.api.errors import ApiError, Conflict, NotFound, Throttled
from muster.daemon.event_recorder import EventRecorder
from muster.daemon.experiments import Entry, ExperimentIndex, Unanswered
from muster.daemon.prober_pool import ProberPool
from muster.kube.transport import Transport
from muster.kube.workqueue import WorkQueue
from muster.metrics.instruments import Instruments
from muster.reconcilers.native.engine import NativeEngine
from muster.reconcilers.refs import ExperimentRef
from muster.reconcilers.result import Outcome
from muster.reconcilers.status import write_status
from muster.state.actions import CreatePods, DeletePods
from muster.state.engine_facts import LiveRead, Refusal
from muster.state.invalid_spec import refuse
from muster.state.machine import Decision, decide
from muster.state.plan import Plan
from muster.state.record import Record, StoryLine
from muster.state.roll import RollAnswer
from muster.state.status import to_status
from muster.state.view import View

log = structlog.get_logger()

REFUSED_PAUSE = 5.0
"""Seconds before something the API server refused (quota, admission) is tried again."""
LOOK_PAUSE = 1.0
"""Seconds between looks past the cache that do not settle the matter: the wall clock or the API server went back."""
MOST_UNANSWERED = 8
"""Status writes of one experiment of which we still want to know whether they were carried out."""


class Caches(Protocol):
    """How far the watch caches have come."""

    @property
    def synced(self) -> bool:
        """Whether every cache has had its first list."""
        ...

    @property
    def pods_version(self) -> int:
        """The newest resourceVersion that the pod cache contains."""
        ...

    async def look(self, plan: Plan, view: View) -> int:
        """Read the plan's pods from the live API into the cache; return the resourceVersion of the list."""
        ...


class Controller:
    """Owns the steps of all experiments; the queue sees to it that no experiment is in two steps at once."""

    def __init__(
        self,
        *,
        transport: Transport,
        roster: ExperimentIndex,
        queue: WorkQueue,
        caches: Caches,
        engine: NativeEngine,
        probing: ProberPool,
        announcer: EventRecorder,
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
        self._learn(entry)
        if entry.plan is None:
            await self._refuse(entry)
        elif self._outdated(entry):
            await self._look(entry, entry.plan)
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
        if entry is not None and entry.view.observe_probe(answer, epoch):
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

    def _outdated(self, entry: Entry) -> bool:
        """The pods are older than a record that another daemon, or an earlier life, wrote when it had seen them.

        The streams are independent, so its record may be here before its pods. Judged by that record, a member that
        runs seems to have gone back to Pending, and a pod that ended and is kept for its logs seems to run still.
        """
        look = entry.view.engine.live_read
        return max(self._caches.pods_version, look.version if look else 0) < entry.foreign_version

    def _decide(self, entry: Entry, plan: Plan) -> Decision:
        started = self._monotonic()
        if entry.record is not None:
            entry.view.mark_created(entry.record.epoch, (), plan.together)
        decision = decide(plan, entry.record, entry.view, self._clock())
        self._instruments.decision(self._monotonic() - started)
        return decision

    async def _follow(self, entry: Entry, plan: Plan, decision: Decision) -> None:
        if decision.read_first:
            await self._look(entry, plan)
            return
        if decision.write and not await self._persist(entry, decision):
            return
        self._probing.aim(plan.uid, decision.probe)
        if decision.wake_at is not None:
            self._queue.add_in(plan.uid, decision.wake_at - self._clock())
        for action in decision.actions:
            outcome = await self._engine.carry_out(action, plan, decision.record)
            self._fold(entry, outcome, decision.record.epoch)
            if isinstance(action, CreatePods) and outcome.refusal is None and outcome.error is None:
                entry.view.mark_created(action.epoch, (member.rank for member in action.members), plan.together)
            if isinstance(action, DeletePods):
                entry.view.mark_deleting(outcome.deleted, action.grace)
            if outcome.error is not None:
                raise outcome.error
            if outcome.refusal is not None:
                return  # the actions of a step build on each other: no member starts without the Service that names it
        self._refused(entry, None)

    async def _look(self, entry: Entry, plan: Plan) -> None:
        """Look past the cache, and decide again: at once, unless the last look was not enough either."""
        at, last = self._clock(), entry.view.engine.live_read
        entry.view.engine.live_read = LiveRead(at, await self._caches.look(plan, entry.view))
        again = last is not None and abs(at - last.at) < 2 * LOOK_PAUSE  # twice: a look that has waited is one itself
        self._queue.add_in(plan.uid, LOOK_PAUSE if again else 0.0)

    async def _refuse(self, entry: Entry) -> None:
        """Fail an experiment that cannot be planned, unless it has begun: then its pods are left as they are."""
        seen = entry.seen
        if entry.unreadable or entry.record is not None:
            log.warning("experiment cannot be read", experiment=seen.name, problem=entry.problem)
            return
        record = refuse(seen.generation, entry.problem, self._clock())
        await self._write(entry, record, record.story)

    async def _persist(self, entry: Entry, decision: Decision) -> bool:
        try:
            await self._write(entry, decision.record, decision.story)
        except NotFound:
            return False  # deleted meanwhile; the watch will say so
        return True

    async def _write(self, entry: Entry, record: Record, story: tuple[StoryLine, ...]) -> None:
        """Persist a record, then tell what came of it. Without a clear answer that is told when it is known."""
        attempt = Unanswered(entry.version, entry.record, record, story)
        try:
            version = await write_status(self._transport, _ref(entry), to_status(record), entry.version)
        except NotFound:
            raise
        except ApiError as error:
            # Conflict too: a PUT on a connection that broke is sent again, and meets its own first copy. But where an
            # earlier attempt may be what it meets, that one is not forgotten for it.
            if not (isinstance(error, Conflict) and entry.unanswered):
                entry.unanswered = [*entry.unanswered[1 - MOST_UNANSWERED :], attempt]
            raise
        if version > entry.version:  # else the watch was faster than the answer, and has brought what followed, too
            entry.record, entry.version = record, version
        elif entry.foreign_version == version:
            entry.foreign_version = 0
        entry.unanswered.clear()  # based on the same version as this one, so they were not carried out
        self._tell(entry, attempt)

    def _learn(self, entry: Entry) -> None:
        """A status write whose answer was lost has been carried out if the status reads as it would have made it."""
        if not entry.unanswered or entry.record is None:
            return
        done = next((each for each in entry.unanswered if to_status(each.after) == to_status(entry.record)), None)
        if done is not None:
            self._tell(entry, done)
            entry.foreign_version = 0
        entry.unanswered = [each for each in entry.unanswered if each.version >= entry.version]

    def _tell(self, entry: Entry, written: Unanswered) -> None:
        if entry.plan is not None:
            self._instruments.transition(entry.plan, written.before, written.after)
            _log_story(entry.plan, written.after, written.story)
        self._announcer.tell(_ref(entry), written.story)

    def _refused(self, entry: Entry, refusal: Refusal | None) -> None:
        """What the API server would not do in this step (None: it did everything) is seen by the next decision."""
        if refusal != entry.view.engine.refusal:
            entry.view.engine.refusal = refusal
            self._queue.add(entry.seen.uid)

    def _fold(self, entry: Entry, outcome: Outcome, epoch: int) -> None:
        """Put what came of an action into the view, and look again at once if it changes the picture.

        ``epoch`` is the one that was decided upon: the watch may have brought a record of the next meanwhile.
        """
        uid, view = entry.seen.uid, entry.view
        entry.pods_due = max(entry.pods_due, outcome.version)
        if outcome.confirmed is not None:
            if outcome.launched:
                view.engine.launched = epoch
            if outcome.confirmed and outcome.owner <= entry.version:
                view.engine.confirmed = epoch
                self._queue.add(uid)
            else:
                self._queue.add_in(uid, 1.0)
        if outcome.lost:
            view.engine.lost = epoch
            self._queue.add(uid)
        if outcome.service:
            view.engine.service = True
        if outcome.refusal is not None:
            self._refused(entry, outcome.refusal)
            self._queue.add_in(uid, REFUSED_PAUSE)


def _ref(entry: Entry) -> ExperimentRef:
    return ExperimentRef(entry.seen.namespace, entry.seen.name, entry.seen.uid)


def _log_story(plan: Plan, record: Record, lines: Sequence[StoryLine]) -> None:
    for line in lines:
        log.info(
            line.message,
            experiment=plan.name,
            namespace=plan.namespace,
            phase=record.phase.value,
            epoch=line.epoch,
            reason=line.reason,
        )
