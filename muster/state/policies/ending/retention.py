"""Retention: an experiment that has finished is deleted after ``spec.ttlAfterFinished``, or as its installation asks.

The time is persisted with the end itself (``Record.delete_at``), so every daemon acts at the same instant, and a step
of the wall clock moves it with the clocks (``state.vocabulary.wall_time``). An edit of the ttl computes it again from
the end.

If the spec has no ttl, the setting ``retention`` of musterd holds. The seconds that it had are persisted, too
(``Record.retention``): they show by which of both the object is deleted, and a setting that was changed is seen. An
experiment that had ended before the setting reached it is given notice (``NOTICE``), so that nothing is deleted right
behind a typing error.

The object is deleted only when the status that holds its end is persisted, and when its pods have ended: until then a
collector of logs may read them. Pods that do not end in time hold it back no longer than they hold back their own
deletion (``barrier.give_up_at``).
"""

from msgspec.structs import replace

from muster.state.facts.context import Context
from muster.state.policies import barrier
from muster.state.vocabulary.actions import DeleteSubject
from muster.state.vocabulary.record import Record

NOTICE = 3600.0
"""Seconds for which a finished experiment stays at least after a setting was changed, or all of a shorter setting."""


def schedule(context: Context) -> Record:
    """Return the record with the time of the deletion, and the retention of the installation if that sets it."""
    at, kept = _scheduled(context)
    record = context.record
    return (
        record if (at, kept) == (record.delete_at, record.retention) else replace(record, delete_at=at, retention=kept)
    )


def _scheduled(context: Context) -> tuple[float | None, int | None]:
    """Return the time and the retention: set at the end, and again if the spec or the installation was changed."""
    record, ttl, retention = context.record, context.plan.lifecycle.ttl, context.plan.lifecycle.retention
    if record.finished_at is None or not record.finished:
        return None, None
    if ttl is not None:
        edited = record.generation != context.plan.generation or record.retention is not None
        return record.finished_at + ttl if record.delete_at is None or edited else record.delete_at, None
    if retention is None:
        return None, None
    if record.delete_at is not None and record.retention == retention:
        return record.delete_at, retention
    return max(record.finished_at + retention, context.now + min(retention, NOTICE)), retention


def expire(context: Context) -> tuple[DeleteSubject, ...]:
    """Delete the object of an experiment whose time is over."""
    at = wake_at(context)
    return (DeleteSubject(),) if at is not None and context.now >= at else ()


def wake_at(context: Context) -> float | None:
    """Return when the object is deleted, if nothing changes before."""
    at = context.record.delete_at
    if at is None or not context.record.finished or context.view.engine.removed:
        return None
    if not any(context.view.alive()):
        return at
    latest = barrier.give_up_at(context)
    return None if latest is None else max(at, latest)
