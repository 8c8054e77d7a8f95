"""The end of a watched run, and what is left of it.

It has ended when its object reports that, at the time that the object has: a daemon that starts finds runs that ended
long before. A run whose object is being deleted has ended when no pod of it still runs, if the object is held then.

The pods of some kinds still run after the end (by default a RayJob's cluster). That is reported: they hold nodes.
"""

from typing import NamedTuple

from muster.api.values.printable import word
from muster.state.facts.context import Context
from muster.state.facts.sentences import still_running
from muster.state.view.own.own_state import OwnState, Said
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Phase

SETTLED_WITHIN = 10.0
"""Seconds after the end within which a controller deletes the pods that it does not keep."""
HELD_AFTER = 60.0
"""Seconds after which a deletion counts as blocked: the usual grace of pods is 30."""
DELETED = "Deleted"
NAMED = 3
"""Finalizers that a sentence names."""


class End(NamedTuple):
    """The end of a run."""

    phase: Phase
    reason: str
    message: str
    at: float
    """In wall seconds; never before the start nor after now."""


def by_its_object(context: Context, own: OwnState) -> End | None:
    """Return the verdict of its own controller."""
    if not own.said.over:
        return None
    phase, what = (Phase.SUCCEEDED, "succeeded") if own.said is Said.SUCCEEDED else (Phase.FAILED, "failed")
    message = own.message or f"the {context.plan.subject.kind} reports that it has {what}"
    return End(phase, own.reason or phase.value, message, ended_at(context, own.finished_at))


def by_deletion(context: Context) -> End | None:
    """Return the end of a run whose object is being deleted, and held, and which has no running pod."""
    deleted = context.plan.watching.deleted_at
    if deleted is None or context.now < deleted + HELD_AFTER or any(context.view.alive()):
        return None
    return End(Phase.FAILED, DELETED, "it was deleted before its end", ended_at(context, None))


def held_at(context: Context) -> float | None:
    """Return when a deletion counts as blocked."""
    deleted = context.plan.watching.deleted_at
    return None if deleted is None or any(context.view.alive()) else deleted + HELD_AFTER


def ended_at(context: Context, at: float | None) -> float:
    """Return the time of an end, as far as it can be one."""
    started = context.record.started_at
    return context.now if not at else min(context.now, at if started is None else max(at, started))


def left(context: Context, own: OwnState) -> str:
    """Return the sentence on the rest of a run that has ended."""
    settled = context.now >= (context.record.finished_at or 0.0) + SETTLED_WITHIN
    running = (
        [pod for pod in context.view.alive() if not pod.terminating]
        if settled and not context.plan.lifecycle.deleting
        else []
    )
    said = still_running(running)
    return "; ".join(filter(None, (said, own.clearing if said else "", deletion(context))))


def settles_at(context: Context) -> float | None:
    """Return when the pods that still run are reported; None if that is over."""
    at = (context.record.finished_at or 0.0) + SETTLED_WITHIN
    return at if at > context.now and any(context.view.alive()) else None


def deletion(context: Context) -> str:
    """Return the sentence while the object is being deleted; empty if it is not."""
    if not context.plan.lifecycle.deleting:
        return ""
    running = still_running(list(context.view.alive())) or "no pod runs"
    return f"{held(context.plan)}; {running}"


def held(plan: Plan) -> str:
    """Return ``being deleted; held by the finalizer foregroundDeletion``."""
    names = ", ".join(map(word, plan.watching.finalizers[:NAMED]))
    more = f" and {len(plan.watching.finalizers) - NAMED} more" if len(plan.watching.finalizers) > NAMED else ""
    finalizers = "finalizer" if len(plan.watching.finalizers) == 1 else "finalizers"
    return f"being deleted; held by the {finalizers} {names}{more}" if names else "being deleted"
