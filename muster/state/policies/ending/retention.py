"""Retention: an experiment that has finished is deleted after ``spec.ttlAfterFinished``.

The time is persisted with the end itself (``Record.delete_at``), so every daemon acts at the same instant, and a step
of the wall clock moves it with the clocks (``state.vocabulary.wall_time``). An edit of the ttl computes it anew from
the end.

The object is deleted only when the status that holds its end is persisted, and when its pods have ended: until then a
collector of logs may read them. Pods that do not end in time hold it back no longer than they hold back their own
deletion (``barrier.give_up_at``).
"""

from msgspec.structs import replace

from muster.state.facts.context import Context
from muster.state.policies import barrier
from muster.state.vocabulary.actions import DeleteSubject
from muster.state.vocabulary.record import Record


def schedule(context: Context) -> Record:
    """The record with the time of the deletion: set at the end, and computed anew where the spec was edited."""
    record, ttl = context.record, context.plan.lifecycle.ttl
    at = None
    if ttl is not None and record.finished_at is not None and record.finished:
        edited = record.generation != context.plan.generation
        at = record.finished_at + ttl if record.delete_at is None or edited else record.delete_at
    return record if at == record.delete_at else replace(record, delete_at=at)


def expire(context: Context) -> tuple[DeleteSubject, ...]:
    """Delete the object of an experiment whose time is over."""
    at = _due(context)
    return (DeleteSubject(),) if at is not None and context.now >= at else ()


def wake_at(context: Context) -> float | None:
    """When the object is deleted, if nothing changes before."""
    return _due(context)


def _due(context: Context) -> float | None:
    at = context.record.delete_at
    if at is None or not context.record.finished or context.view.engine.removed:
        return None
    if not any(tally.alive for tally in context.view.epochs.values()):
        return at
    latest = barrier.give_up_at(context)
    return None if latest is None else max(at, latest)
