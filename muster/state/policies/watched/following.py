"""The verdicts over a watched run: they follow the report of its own controller, and never Muster's failure rules.

A restart by that controller (``OwnState.epoch`` grows) is a new epoch. A member that fails is reported as the cause,
and changes nothing else; the end of one that was deleted waits for the report of the object. Labelled pods have no
controller in common, so their own ends decide: they have succeeded when all have, and failed when all have ended, some
with an error, and nothing replaced those for ``REPLACED_WITHIN`` seconds. Pods that come after such an end are another
run.
"""

from typing import Any, NamedTuple

from msgspec.structs import replace

from muster.api.values.printable import word
from muster.state.facts import presence
from muster.state.facts.context import Context
from muster.state.facts.failure_cause import cause_of, final, was_deleted
from muster.state.facts.sentences import blocked, sentence, still_running
from muster.state.policies import ending, restart
from muster.state.policies.failures import known, recurrence
from muster.state.policies.verdicts import Fail
from muster.state.policies.watched import obstacles
from muster.state.view.own import OwnState, OwnVerdict
from muster.state.view.view import View
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Cause, Phase, Record
from muster.state.vocabulary.transitions import enter, next_epoch


def epoch_at(context: Context) -> float:
    """Return when the first pod of the epoch was made; now, if no pod shows it.

    A daemon that starts finds pods that were made long before, and so continues the clock of the epoch. The times of
    later phases are not taken from pods. No pod shows when the last one had a node, or when the roll was complete; and
    from the time at which it saw the first program run, a daemon measures how long the coordinator took to open its
    port.
    """
    times = (pod.created for pod in context.tally.members.values())
    return min((at for at in times if 0.0 < at <= context.now), default=context.now)


SETTLED_WITHIN = 10.0
"""Seconds after the end within which a controller deletes the pods that it does not keep."""
HELD_AFTER = 60.0
"""Seconds after which a deletion counts as blocked: the usual grace of pods is 30."""
DELETED = "Deleted"
BY_CONTROLLER = "RestartedByController"
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
    """Return the verdict of its own controller, at the time that the object has: the run may have ended long before."""
    if not own.verdict.over:
        return None
    phase, what = (Phase.SUCCEEDED, "succeeded") if own.verdict is OwnVerdict.SUCCEEDED else (Phase.FAILED, "failed")
    message = own.message or f"the {context.plan.subject.kind} reports that it has {what}"
    return End(phase, own.reason or phase.value, message, ended_at(context, own.finished_at))


def by_deletion(context: Context) -> End | None:
    """Return the end of a run whose object is being deleted, and held, and which has no running pod."""
    at = held_at(context)
    if at is None or context.now < at:
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
    """Return the sentence on the rest of a run that has ended: pods of some kinds still run, and hold nodes.

    By default those of a RayJob's cluster do.
    """
    awaited = context.plan.lifecycle.deleting or context.now < (context.record.finished_at or 0.0) + SETTLED_WITHIN
    running_on = still_running([pod for pod in context.view.alive() if not (pod.terminating or awaited)])
    return "; ".join(filter(None, (running_on, own.clearing if running_on else "", deletion(context))))


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


REPLACED_WITHIN = 30.0
"""Seconds in which a controller replaces a pod that has failed."""

NOTHING = OwnState()


class Followed(NamedTuple):
    """The record that follows the object, and when that may change by the passing of time."""

    record: Record
    wake_at: float | None = None


def first(plan: Plan, view: View, now: float) -> Record:
    """Return the record of a watched run that has none: it is new, or this daemon is."""
    own = view.own or NOTHING
    epoch = max(0, own.epoch)
    base = Record(
        generation=plan.generation,
        phase=Phase.PENDING,
        phase_at=now,
        epoch=epoch,
        restarts=epoch,
        gang_restarts=epoch,
    )
    if own.verdict is OwnVerdict.SUSPENDED:
        return replace(base, phase=Phase.SUSPENDED)
    started = min(own.started_at or own.finished_at or now, now)
    return replace(base, started_at=started, epoch_at=None if epoch else started)  # for later ones the pods show it


def follow(context: Context) -> Followed:
    """Return the record that follows the object's present report."""
    record, own = context.record, context.view.own or NOTHING
    if record.finished:
        return _after_the_end(context, own)
    epoch = own.epoch if own.epoch >= 0 else max(context.view.epochs, default=0)
    if epoch > record.epoch:
        context = context.with_record(_restarted(context, epoch))
    caused = _with_cause(context)
    context = context.with_record(caused.record)
    record, now = context.record, context.now
    if (end := by_its_object(context, own) or by_deletion(context)) is not None:
        return _ended(context, end)
    if context.plan.lifecycle.deleting:
        cause = _cause(context, DELETED, "its deletion began") or record.cause  # nothing is Stuck from now on
        return Followed(replace(record, cause=cause), held_at(context))
    match own.verdict:
        case OwnVerdict.SUSPENDED if record.phase is not Phase.SUSPENDED:
            cause = _cause(context, Phase.SUSPENDED, "it was suspended") or record.cause
            steps = replace(record.steps, hung_after=0) if record.steps is not None else None  # not in the next life
            return Followed(replace(next_epoch(record, Phase.SUSPENDED, now, record.epoch), cause=cause, steps=steps))
        case OwnVerdict.SUSPENDED:
            return Followed(record)
    if record.phase is Phase.SUSPENDED:
        at = own.started_at if own.started_at is not None and own.started_at > record.phase_at else now
        cause = None if _own(record) is not None else record.cause  # not of the resumed life
        return Followed(enter(record, Phase.PENDING, now, started_at=min(at, now), epoch_at=now, cause=cause))
    return _of_pods(context) if own.verdict is OwnVerdict.ASK_PODS else caused


def begins(context: Context) -> bool:
    """Return True if a restart by the object's controller has begun: the old pods are gone, or new ones exist."""
    return presence.none_older(context) or context.tally.pods > 0


def _restarted(context: Context, epoch: int) -> Record:
    record, now = context.record, context.now
    if record.phase is Phase.SUSPENDED:  # it is resumed as its next attempt: nothing has failed
        return replace(record, epoch=epoch)
    failed = None if _own(record) is not None else _first_failure(context)[0]
    cause = _cause(context, BY_CONTROLLER, "its controller restarted it", failed)
    record = recurrence.met(context, failed) if failed is not None else record
    if record.phase is Phase.RESTARTING:
        after = replace(record, epoch=epoch)
    else:
        after = next_epoch(record, Phase.RESTARTING, now, epoch)
    more = epoch - record.epoch
    return replace(
        after,
        cause=cause or Cause(record.epoch, BY_CONTROLLER, "", now),
        restarts=record.restarts + more,
        gang_restarts=record.gang_restarts + more,
        broken_at=now if record.broken_at is None else record.broken_at,
    )


def _with_cause(context: Context) -> Followed:
    """Return the record with the first failure of its epoch as the cause, by the controller's report or a member's."""
    record, own = context.record, context.view.own
    if not record.gathering or context.plan.lifecycle.deleting:
        return Followed(record)
    if own is not None and own.verdict is OwnVerdict.NOTHING and own.reason:
        reported = (before := _own(record)) is not None and not before.pod
        cause = None if reported else Cause(record.epoch, own.reason, own.message, context.now)
        return Followed(record if cause is None else replace(record, cause=cause))
    cause, due = _first_failure(context)
    if cause is None or (record.cause is not None and record.cause.uid == cause.uid):
        return Followed(record, due)
    return Followed(replace(recurrence.met(context, cause), cause=cause))


def _first_failure(context: Context) -> tuple[Cause | None, float | None]:
    """Return the first failure of a member, or when a deleted member's end is one if nothing explains it before."""
    tally = context.tally
    if tally.failed or tally.disrupted:
        cause = restart.first_cause(context)
        pod = tally.members.get(cause.rank) if cause is not None else None
    else:  # its controller may have removed the pod meanwhile
        removed = (each for each in tally.gone.values() if each.failed and was_deleted(each))
        pod = next(removed, None)
        cause = cause_of(context, pod) if pod is not None else None
    due = obstacles.counts_from(context, pod) if pod is not None else 0.0
    return (None, due) if due > context.now else (cause, None)


def _cause(context: Context, reason: str, message: str, failed: Cause | None = None) -> Cause | None:
    """Return the cause of that end of the epoch: its failure, else what blocked it until now."""
    return known.remembered(context, Fail(reason, message, _own(context.record) or failed)).cause


def _own(record: Record) -> Cause | None:
    """Return the cause that the record has of its present epoch."""
    return record.cause if record.cause is not None and record.cause.epoch == record.epoch else None


def _ended(context: Context, end: End) -> Followed:
    record = context.record
    changes: dict[str, Any] = {}
    if end.phase is Phase.SUCCEEDED:
        changes["ready"] = min(context.tally.ready + context.tally.succeeded, context.plan.size)
    else:
        changes["cause"] = final(_cause(context, end.reason, end.message)) or record.cause
    after = enter(record, end.phase, end.at, finished_at=end.at, reason=end.reason, **changes)
    after = replace(after, message=_message(after, end))
    return _after_the_end(context.with_record(after), context.view.own or NOTHING)


def _message(record: Record, end: End, left: str = "") -> str:
    """Return how it ended, what had blocked it before, and what is left of it."""
    before = blocked(record.cause) if record.cause is not None and record.cause.final else ""
    return "; ".join(filter(None, (end.message, before, left)))


def _after_the_end(context: Context, own: OwnState) -> Followed:
    """Return the record of a run that has ended, with what is left of it."""
    record = _revived(context, own)
    if not record.finished or (end := by_its_object(context, own) or by_deletion(context)) is None:
        return Followed(record)
    if (end.phase, end.reason) != (record.phase, record.reason):
        return Followed(record)
    return Followed(replace(record, message=_message(record, end, left(context, own))), settles_at(context))


def _of_pods(context: Context) -> Followed:
    """Return the record of labelled pods, which decide for themselves."""
    record, tally, now = context.record, context.tally, context.now
    if done := ending.judge_success(context):
        at = ended_at(context, tally.ended_at)
        return _ended(context, End(Phase.SUCCEEDED, done.reason, done.message, at))
    if tally.alive or not tally.failed or tally.pods < context.plan.size:
        return Followed(record)
    at = max((pod.exit.finished_at if pod.exit else 0.0 for pod in tally.failed.values()), default=0.0)
    due = (at or record.phase_at) + REPLACED_WITHIN
    if now < due:
        return Followed(record, due)
    what = sentence(record.cause) if record.cause else "a member failed"
    whole = "its only pod has" if context.plan.size == 1 else f"all {context.plan.size} pods have"
    message = f"{whole} ended: {what}"
    return _ended(context, End(Phase.FAILED, "MembersFailed", message, ended_at(context, at)))


def _revived(context: Context, own: OwnState) -> Record:
    """Return a new record if pods run after the end of a set of pods: they are its next run."""
    if own.verdict is not OwnVerdict.ASK_PODS or not any(not pod.terminating for pod in context.tally.alive.values()):
        return context.record
    if any(rank in context.tally.done for rank in context.tally.members) and context.record.phase is Phase.SUCCEEDED:
        return context.record  # sidecars still run
    return replace(first(context.plan, context.view, context.now), started_at=context.now, epoch_at=context.now)
