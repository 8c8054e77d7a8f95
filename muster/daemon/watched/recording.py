"""Keeps the record of a watched run in memory, and writes its story as Events.

A daemon that starts finds runs that began long before. What it learns first of such a run is no news, and becomes no
Event. What follows may have been said by an earlier daemon: the Events of a watched object are named after what they
say and not after the time, so that one is not created twice while it is kept.
"""

from collections.abc import Callable

import structlog

from muster.daemon.event_recorder import EventRecorder
from muster.metrics.instruments import Instruments
from muster.reconcilers.refs import ExperimentRef
from muster.state.decide.machine import Decision
from muster.state.vocabulary.record import StoryLine
from muster.state.vocabulary.subject import Subject
from muster.state.vocabulary.wall_time import moved
from muster.tracking.deciding import keep
from muster.tracking.entry import Entry
from muster.tracking.watched_run import WatchedRun

log = structlog.get_logger()

NEWS = 60.0
"""Seconds after its creation in which what is learned first of an object is news."""
NOT_WATCHED = "NotWatchedOver"
POD = Subject("v1", "Pod", "pods")


class WatchedRecorder:
    """The records of all watched runs. ``clock`` gives wall seconds."""

    def __init__(self, recorder: EventRecorder, instruments: Instruments, clock: Callable[[], float]) -> None:
        self._recorder = recorder
        self._instruments = instruments
        self._clock = clock

    def keep(self, entry: Entry, decision: Decision) -> None:
        """Take the record of a decision over."""
        assert entry.watched is not None
        before = None if entry.record is None else moved(entry.record, decision.moved)
        known = before is None and self._clock() - entry.watched.created > NEWS
        keep(entry, decision, self._clock())
        if known:
            return
        self._instruments.transition(entry.plan, before, decision.record)
        for line in decision.story:
            log.info(
                line.message,
                experiment=entry.title,
                namespace=entry.seen.namespace,
                phase=decision.record.phase.value,
                epoch=line.epoch,
                reason=line.reason,
            )
        if (ref := ref_of(entry)) is not None:
            self._recorder.record(ref, decision.story)

    def refuse(self, entry: Entry, run: WatchedRun) -> None:
        """Say once why the object cannot be watched over."""
        if not entry.problem or entry.problem == run.refused:
            return
        run.refused = entry.problem
        if (ref := ref_of(entry)) is not None:
            line = StoryLine(self._clock(), 0, NOT_WATCHED, f"it is not watched over: {entry.problem}", warning=True)
            self._recorder.record(ref, (line,))


def ref_of(entry: Entry) -> ExperimentRef | None:
    """What Events are about: the object, or a pod of a set of pods; None where there is none any more."""
    assert entry.watched is not None
    seen, kind = entry.seen, entry.watched.kind
    if not kind.virtual:
        return ExperimentRef(seen.namespace, seen.name, seen.uid, kind.subject, watched=True)
    epoch = entry.record.epoch if entry.record is not None else 0
    members = entry.view.of(epoch).members
    pod = members.get(0) or next(iter(members.values()), entry.watched.pod)
    return ExperimentRef(pod.namespace, pod.name, pod.uid, POD, watched=True) if pod is not None else None
