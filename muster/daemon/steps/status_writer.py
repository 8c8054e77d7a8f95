"""Writes the status of an experiment; emits the Events, logs and metrics of what was written, and only of that.

A write whose answer was lost may have been applied. Its Events wait until the watch shows whether it was.

A write that conflicts is decided again when the watch brings the newer object. If the next write of that version
conflicts, too, the object itself is read: one that is older than what is known of it shows that etcd was restored from
a backup so recent that the old resourceVersions have come again on every watch. Then the kind is listed again, and the
list shows what was undone (``ExperimentIndex.undone``).

An object of another kind has its own status, which its readers know, beside the record in the same write. It is
computed from the plan, the record and the view, so it may change while the record stays: another pod is ready. Such a
change is written at once if a condition turns, else 4 s after the last write, both from the object's write budget
(``muster.state.summary.status`` has the same rule for the sentences of an Experiment).
"""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from msgspec.structs import replace

from muster.api.errors import ApiError, Conflict, NotFound
from muster.daemon.event_recorder import EventRecorder
from muster.kinds.planning.run_object import with_record
from muster.kinds.registry import RUN_KINDS
from muster.kube.fair_share import FairShare
from muster.kube.transport import Transport
from muster.metrics.instruments import Instruments
from muster.reconcilers.refs import ExperimentRef
from muster.reconcilers.status import read_version, write_status
from muster.state.decide.machine import Decision
from muster.state.summary.status import WORDS_AFTER
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Record, StoryLine, to_status
from muster.state.vocabulary.subject import EXPERIMENT
from muster.state.vocabulary.wall_time import moved
from muster.tracking.entry import Entry, Unanswered

OTHER_CONTROLLER = "OtherController"
"""Reason of the refusal for an object whose pods another controller makes."""


def own_status(entry: Entry, record: Record) -> dict[str, Any]:
    """Return the own status for this record. Without a plan it has the reason, or stays as it is."""
    kind = RUN_KINDS[entry.seen.kind]
    if entry.plan is None and not record.finished:
        return dict(entry.own)
    if entry.plan is None:
        return kind.refused(record, entry.own)
    return kind.status_of(entry.plan, record, entry.view, entry.own)


def with_own_status(entry: Entry, plan: Plan, decision: Decision, now: float) -> Decision:
    """Return the decision, with a write if the object's own status is due."""
    if decision.write or decision.read_first or plan.lifecycle.deleting or decision.record.updated_at == 0.0:
        return decision
    refusal = entry.view.engine.refusal
    if refusal is not None and refusal.reason == OTHER_CONTROLLER:
        return decision  # the other controller writes the status, too
    wanted = own_status(entry, decision.record)
    if wanted == entry.own:
        return decision
    written_at = min(decision.record.updated_at, now)  # a wall clock that was set back must not silence the status
    soon = now if _turns(wanted) != _turns(entry.own) else written_at + WORDS_AFTER
    at = max(soon, entry.view.writes.free_at(now))
    if now >= at:
        return replace(decision, record=replace(decision.record, updated_at=now), write=True, paid=True)
    wake_at = at if decision.wake_at is None else min(at, decision.wake_at)
    return replace(decision, wake_at=wake_at)


def _turns(status: Mapping[str, Any]) -> list[tuple[object, ...]]:
    return [(each.get("type"), each.get("status")) for each in status.get("conditions") or ()]


log = structlog.get_logger()

MOST_UNANSWERED = 8
"""Most status writes of one experiment whose outcome is unknown and still matters."""


@dataclass(eq=False)
class StatusWriter:
    """The status writes of all experiments. A step awaits each, so an experiment has one at a time."""

    transport: Transport
    share: FairShare
    recorder: EventRecorder
    instruments: Instruments
    list_again: Callable[[str], None]
    """Called with the plural of a kind whose cache is newer than the API server."""

    async def write(self, entry: Entry, record: Record, story: tuple[StoryLine, ...], moved: float = 0.0) -> None:
        """Write status. On success emit Events and metrics.

        If the outcome is unknown (timeout), defer them until the watch shows whether the write was applied.
        """
        attempt = Unanswered(entry.freshness.version, entry.record, record, story, moved)
        ref = ref_of(entry)
        own = own_status(entry, record) if entry.of_run_kind else {}
        status = with_record(own, record) if entry.of_run_kind else to_status(record)
        entry.writing = attempt
        try:
            async with self.share.of(ref.namespace, ref.uid):
                version = await write_status(self.transport, ref, status, attempt.version)
        except NotFound:
            raise
        except ApiError as error:
            # Conflict too: a PUT on a connection that broke is sent again and conflicts with its own first copy. But if
            # it may conflict with an earlier attempt, that attempt stays the one of interest.
            if not (isinstance(error, Conflict) and entry.unanswered):
                entry.unanswered = [*entry.unanswered[1 - MOST_UNANSWERED :], attempt]
            if isinstance(error, Conflict):
                await self._conflict(entry, ref, attempt.version)
            raise
        finally:
            entry.writing = None
        if version > entry.freshness.version:  # else the watch has already brought this write, and what followed it
            entry.record, entry.own, entry.freshness.version = record, own, version
        elif entry.freshness.object_version == version:
            entry.freshness.object_version = 0
        entry.unanswered.clear()  # based on the same version as this one, so they were not carried out
        self._record_story(entry, attempt)

    async def _conflict(self, entry: Entry, ref: ExperimentRef, version: int) -> None:
        if entry.refused != version:
            entry.refused = version
        else:
            entry.refused = 0
            with contextlib.suppress(ApiError):  # the conflict is raised, and tried again
                async with self.share.of(ref.namespace, ref.uid):
                    if await read_version(self.transport, ref) < version:
                        self.list_again(ref.subject.plural)

    def settle(self, entry: Entry) -> None:
        """Emit the story of a write whose answer was lost, if the status now reads as that write would have made it."""
        if not entry.unanswered or entry.record is None:
            return
        read = _status(entry, entry.record)
        done = next((each for each in entry.unanswered if _status(entry, each.after) == read), None)
        if done is not None:
            self._record_story(entry, done)
            entry.freshness.object_version = 0
        entry.unanswered = [each for each in entry.unanswered if each.version >= entry.freshness.version]

    def _record_story(self, entry: Entry, written: Unanswered) -> None:
        entry.step -= written.moved
        before = None if written.before is None else moved(written.before, written.moved)
        self.instruments.transition(entry.plan, before, written.after, entry.seen.namespace)
        log_story(entry, written.after, written.story)
        self.recorder.record(ref_of(entry), written.story)


def log_story(entry: Entry, record: Record | None, story: tuple[StoryLine, ...]) -> None:
    """Log the news of a run; ``record`` is its new record, None if it has none yet."""
    for line in story:
        (log.warning if line.warning else log.info)(
            line.message,
            experiment=entry.title,
            namespace=entry.seen.namespace,
            uid=entry.seen.uid,
            phase=record.phase.value if record is not None else "",
            epoch=line.epoch,
            reason=line.reason,
        )


def ref_of(entry: Entry) -> ExperimentRef:
    """Return the identity of the object in requests, Events and logs."""
    subject = RUN_KINDS[entry.seen.kind].subject if entry.of_run_kind else EXPERIMENT
    return ExperimentRef(entry.seen.namespace, entry.seen.name, entry.seen.uid, subject)


def _status(entry: Entry, record: Record) -> dict[str, Any]:
    """Return the persisted part of a record; for an object of another kind, all but the story."""
    return to_status(replace(record, story=()) if entry.of_run_kind else record)
