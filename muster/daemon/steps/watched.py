"""The step of a run that another controller carries out: decide, and keep the record in memory.

The only change to the object is a deadline that its own annotation asks for, with an Event before.

The story of a run becomes Events. A daemon that starts finds runs that began long before. Its first record of such a
run becomes no Event. A later Event may exist from an earlier daemon: Events of a watched object are named after their
text and not after the time, so that none is created twice while it is kept.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

from muster.daemon.event_recorder import EventRecorder
from muster.daemon.remarks import RemarkReader
from muster.daemon.steps.outcomes import Outcomes
from muster.daemon.steps.status_writer import log_story
from muster.kube.fair_share import FairShare
from muster.kube.transport import Transport
from muster.metrics.instruments import Instruments
from muster.reconcilers.refs import ExperimentRef
from muster.reconcilers.status import end_run
from muster.state.decide.machine import Decision
from muster.state.vocabulary.actions import EndRun
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import StoryLine
from muster.state.vocabulary.subject import Subject
from muster.state.vocabulary.wall_time import moved
from muster.tracking.entry import Entry, WatchedRun, keep

NEWS = 60.0
"""Seconds after an object's creation in which its first record still becomes Events."""
NOT_WATCHED = "NotWatchedOver"
POD = Subject("v1", "Pod", "pods")


def event_subject(entry: Entry) -> ExperimentRef | None:
    """Return the subject of Events: the object, or a pod of a set of pods; None if the set has no pod any longer."""
    assert entry.watched is not None
    seen, kind = entry.seen, entry.watched.kind
    if not kind.virtual:
        return ExperimentRef(seen.namespace, seen.name, seen.uid, kind.subject, watched=True)
    epoch = entry.record.epoch if entry.record is not None else 0
    members = entry.view.of(epoch).members
    pod = members.get(0) or next(iter(members.values()), entry.watched.pod)
    return ExperimentRef(pod.namespace, pod.name, pod.uid, POD, watched=True) if pod is not None else None


AGAIN = 30.0
"""Seconds after which a run that was asked to end, and has not ended, is asked again."""


@dataclass(eq=False)
class WatchedSteps:
    """The steps of all watched runs."""

    transport: Transport
    share: FairShare
    recorder: EventRecorder
    instruments: Instruments
    outcomes: Outcomes
    clock: Callable[[], float]
    decide: Callable[[Entry, Plan], Decision]
    await_next: Callable[[Plan, Decision], None]
    remarks: RemarkReader

    def step(self, entry: Entry, run: WatchedRun) -> Coroutine[Any, Any, None] | None:
        """Decide one step. Return the request that ends the run, if one is due."""
        if entry.plan is None:
            self._refuse(entry, run)
            return None
        run.refused = ""
        decision = self.decide(entry, entry.plan)
        if decision.write:
            self._keep(entry, decision)
        self.await_next(entry.plan, decision)
        self.remarks.follow(entry)
        for action in decision.actions:
            if isinstance(action, EndRun):
                now = self.clock()
                if run.asked_at is None or not 0.0 <= now - run.asked_at < AGAIN:
                    return self._end(entry, run, entry.plan, action)
                return None
        if not decision.held:
            run.announced = False
            self.outcomes.accepted(entry)
            self.outcomes.answered(entry)
        return None

    def _keep(self, entry: Entry, decision: Decision) -> None:
        """Take over the record of a decision, and publish its story."""
        assert entry.watched is not None
        before = None if entry.record is None else moved(entry.record, decision.moved)
        known = before is None and self.clock() - entry.watched.created > NEWS
        keep(entry, decision, self.clock())
        if known:
            return
        self.instruments.transition(entry.plan, before, decision.record)
        log_story(entry, decision.record, decision.story)
        if (ref := event_subject(entry)) is not None:
            self.recorder.record(ref, decision.story)

    def _refuse(self, entry: Entry, run: WatchedRun) -> None:
        """Report once, in the log and an Event, why the object cannot be watched over."""
        if not entry.problem or entry.problem == run.refused:
            return
        run.refused = entry.problem
        line = StoryLine(self.clock(), 0, NOT_WATCHED, f"it is not watched over: {entry.problem}", warning=True)
        log_story(entry, entry.record, (line,))
        if (ref := event_subject(entry)) is not None:
            self.recorder.record(ref, (line,))

    async def _end(self, entry: Entry, run: WatchedRun, plan: Plan, action: EndRun) -> None:
        """Announce the end once, in the log and an Event, then end the run. A refused request is retried later."""
        began = self.clock()
        version = entry.seen.resource_version
        epoch = entry.record.epoch if entry.record else 0
        if not run.announced:
            line = StoryLine(began, epoch, action.reason, action.message, warning=True)
            log_story(entry, entry.record, (line,))
            if (ref := event_subject(entry)) is not None:
                await self.recorder.write(ref, (line,))
            run.announced = True
        async with self.share.of(plan.namespace, plan.uid):
            refusal = await end_run(self.transport, action, plan, version, run.kind.suspend)
        if refusal is not None:
            self.outcomes.refused(entry, replace(refusal, final=False), "EndRun", began)
        else:
            run.asked_at = began
            self.outcomes.accepted(entry)
