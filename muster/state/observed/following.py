"""The verdicts over an observed run: they follow what its own controller says, and never Muster's failure rules.

A restart by that controller (``OwnState.epoch`` grows) is a new epoch. A member that fails is said as the cause, and
changes nothing else. Labelled pods have no controller in common, so their own ends decide: they have succeeded when
all have, and failed when all have ended, some with an error, and nothing replaced those for ``REPLACED_WITHIN``
seconds. Pods that come after such an end are another run.
"""

from typing import NamedTuple

from msgspec.structs import replace

from muster.state.context import Context
from muster.state.observed.own_state import OwnState, Said
from muster.state.plan import Plan
from muster.state.policies import barrier
from muster.state.policies.ending import success
from muster.state.policies.failures import failure
from muster.state.record import Cause, Phase, Record
from muster.state.summary.messages import sentence
from muster.state.transitions import enter, next_epoch

REPLACED_WITHIN = 30.0
"""Seconds in which a controller replaces a pod that has failed."""

NOTHING = OwnState()


class Followed(NamedTuple):
    """The record that follows the object, and when that may change by the passing of time."""

    record: Record
    wake_at: float | None = None


def first(plan: Plan, own: OwnState | None, now: float) -> Record:
    """The record of an observed run that has none: it is new, or this daemon is."""
    own = own or NOTHING
    epoch = max(0, own.epoch)
    base = Record(
        generation=plan.generation,
        phase=Phase.PENDING,
        phase_at=now,
        epoch=epoch,
        restarts=epoch,
        gang_restarts=epoch,
    )
    if own.said is Said.SUSPENDED:
        return replace(base, phase=Phase.SUSPENDED)
    started = now if own.started_at is None else min(own.started_at, now)
    return replace(base, started_at=started, epoch_at=None if epoch else started)  # of later ones the pods say it


def follow(context: Context) -> Followed:
    """The record after what the object says now."""
    record, own = context.record, context.view.own or NOTHING
    if record.finished:
        return Followed(_revived(context, own))
    epoch = own.epoch if own.epoch >= 0 else max(context.view.epochs, default=0)
    if epoch > record.epoch:
        context = context.with_record(_restarted(context, epoch))
    context = context.with_record(_with_cause(context))
    record, now = context.record, context.now
    match own.said:
        case Said.SUCCEEDED:
            return Followed(_succeeded(context, own.reason or "Succeeded", own.message or _says(context, "succeeded")))
        case Said.FAILED:
            reason, message = own.reason or "Failed", own.message or _says(context, "failed")
            return Followed(enter(record, Phase.FAILED, now, finished_at=now, reason=reason, message=message))
        case Said.SUSPENDED if record.phase is not Phase.SUSPENDED:
            return Followed(replace(next_epoch(record, Phase.SUSPENDED, now, record.epoch), started_at=None))
        case Said.SUSPENDED:
            return Followed(record)
    if record.phase is Phase.SUSPENDED:
        at = own.started_at if own.started_at is not None and own.started_at > record.phase_at else now
        return Followed(enter(record, Phase.PENDING, now, started_at=min(at, now), epoch_at=now))
    return _of_pods(context) if own.said is Said.ASK_PODS else Followed(record)


def begins(context: Context) -> bool:
    """A restart by the object's controller has begun: the old pods are gone, or new ones are there."""
    return barrier.clear(context) or context.tally.pods > 0


def _restarted(context: Context, epoch: int) -> Record:
    record, now = context.record, context.now
    if record.phase is Phase.SUSPENDED:  # it is resumed as its next attempt: nothing has failed
        return replace(record, epoch=epoch)
    known = record.cause if record.cause is not None and record.cause.epoch == record.epoch else None
    cause = known or failure.first_cause(context) or Cause(record.epoch, "RestartedByController", "", now)
    if record.phase is Phase.RESTARTING:
        after = replace(record, epoch=epoch)
    else:
        after = next_epoch(record, Phase.RESTARTING, now, epoch)
    more = epoch - record.epoch
    return replace(
        after,
        cause=cause,
        restarts=record.restarts + more,
        gang_restarts=record.gang_restarts + more,
        broken_at=now if record.broken_at is None else record.broken_at,
    )


def _with_cause(context: Context) -> Record:
    """The record with the first failure of its epoch as the cause: what the controller reports, or a member's."""
    record, tally, own = context.record, context.tally, context.view.own
    if not record.gathering:
        return record
    if own is not None and own.said is Said.NOTHING and own.reason:
        reported = record.cause is not None and record.cause.epoch == record.epoch and not record.cause.pod
        return record if reported else replace(record, cause=Cause(record.epoch, own.reason, own.message, context.now))
    if not (tally.failed or tally.disrupted):
        return record
    cause = failure.first_cause(context)
    if cause is None or (record.cause is not None and record.cause.uid == cause.uid):
        return record
    return replace(record, cause=cause)


def _succeeded(context: Context, reason: str, message: str) -> Record:
    ready = min(context.tally.ready + context.tally.succeeded, context.plan.size)
    record, now = context.record, context.now
    return enter(record, Phase.SUCCEEDED, now, finished_at=now, reason=reason, message=message, ready=ready)


def _of_pods(context: Context) -> Followed:
    """Labelled pods decide for themselves."""
    record, tally, now = context.record, context.tally, context.now
    if done := success.judge(context):
        return Followed(_succeeded(context, done.reason, done.message))
    if tally.alive or not tally.failed or tally.pods < context.plan.size:
        return Followed(record)
    at = max((pod.exit.finished_at if pod.exit else 0.0 for pod in tally.failed.values()), default=0.0)
    due = (at or record.phase_at) + REPLACED_WITHIN
    if now < due:
        return Followed(record, due)
    what = sentence(record.cause) if record.cause else "a member failed"
    message = f"all {context.plan.size} pods have ended: {what}"
    return Followed(enter(record, Phase.FAILED, now, finished_at=now, reason="MembersFailed", message=message))


def _revived(context: Context, own: OwnState) -> Record:
    """Pods that run after the end of a set of pods are its next run."""
    if own.said is not Said.ASK_PODS or not any(not pod.terminating for pod in context.tally.alive.values()):
        return context.record
    if any(rank in context.tally.done for rank in context.tally.members) and context.record.phase is Phase.SUCCEEDED:
        return context.record  # sidecars run on
    return replace(first(context.plan, own, context.now), started_at=context.now, epoch_at=context.now)


def _says(context: Context, what: str) -> str:
    return f"the {context.plan.subject.kind} says that it has {what}"
