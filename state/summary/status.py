"""The summary of the status for people, computed from the facts at every step.

Facts are persisted when they change. Counts and messages change with every pod, so a status that differs in nothing
else is written at growing intervals: a gang of 512 that starts over ten minutes costs a handful of status
writes and not 512.
"""

from math import ceil

from msgspec.structs import replace

from muster.state.context import Context
from muster.state.policies import barrier, blocked
from muster.state.policies.rendezvous import Assembly
from muster.state.record import Condition, ConditionType, Phase, Record, RollCall
from muster.state.rules import ClockName
from muster.state.summary.conditions import renew
from muster.state.summary.messages import of_lingering, sentence

SUMMARY_PAUSE = 30.0
"""Seconds after a phase began before its summary is refreshed for the first time."""
SUMMARY_GROWTH = 5.0
"""The next pause is that many times the age of the phase: a phase of ten minutes costs two refreshes, of a day five.

The daemon's page and metrics have every count as it changes, at no cost to the API server."""


def summarize(context: Context, assembly: Assembly) -> Record:
    """The record with its summary computed anew."""
    plan, record = context.plan, context.record
    ready, roll = context.tally.ready + context.tally.succeeded, record.roll
    if record.finished:
        ready = record.ready  # the count at the end stays when the pods are deleted
    elif record.gathering and plan.coordinator and not plan.coordinator.probe.passive:
        ready, roll = assembly.arrived, RollCall(plan.size, assembly.arrived, assembly.missing)
    conditions = renew(context, assembly)
    reason, message = record.reason, record.message
    if not record.finished:
        reason, message = _waiting_for(context, assembly, conditions)
    return replace(
        record,
        generation=plan.generation,
        size=plan.size,
        ready=ready,
        roll=roll,
        coordinator=plan.coordinator_address(record.epoch),
        deadline=_deadline(context),
        reason=reason,
        message=message,
        conditions=conditions,
    )


def _deadline(context: Context) -> float | None:
    """When the total clock passes; after the end, when it would have."""
    total, started = context.plan.clock(ClockName.TOTAL), context.record.started_at
    if context.record.finished:
        return context.record.deadline
    if blocked.queued(context.record):
        return None  # it is moved by the time in the queue
    return float(ceil(started + total.after)) if total and started is not None else None


def _waiting_for(context: Context, assembly: Assembly, conditions: tuple[Condition, ...]) -> tuple[str, str]:
    """One line: what it is waiting for."""
    record, tally, size = context.record, context.tally, context.plan.size
    if record.phase is Phase.SUSPENDED:
        return "Suspended", "suspended by spec.suspend; set it to false to go on"
    if assembly.stuck:
        return assembly.stuck[0], assembly.message
    if not barrier.clear(context):
        return "AwaitingOldPods", f"waiting for {of_lingering(context)} to end{_after(record)}"
    if record.phase is Phase.RESTARTING:
        return "BackingOff", f"epoch {record.epoch} starts after the back-off{_after(record)}"
    if assembly.obstacle:
        pending = record.phase is Phase.PENDING
        return assembly.obstacle.reason, assembly.obstacle.message if pending else assembly.message
    if record.phase is Phase.PENDING:
        if tally.pods < size and tally.scheduled == tally.pods:
            return "CreatingPods", f"{tally.pods}/{size} pods are there"
        scheduled = next(each for each in conditions if each.type is ConditionType.SCHEDULED)
        return "Pending", f"{size} members start" if scheduled.status else scheduled.message
    if record.phase is Phase.ASSEMBLING:
        return "AwaitingRanks", assembly.message
    return "RollComplete", assembly.message


def _after(record: Record) -> str:
    return f"; {sentence(record.cause)}" if record.cause else ""


def due(before: Record | None, after: Record, now: float) -> tuple[bool, float | None]:
    """Whether the record must be written now, and if not, when its picture may be."""
    if before is None or before.facts != after.facts:
        return True, None
    if before == after:
        return False, None
    pause = max(SUMMARY_PAUSE, SUMMARY_GROWTH * (before.updated_at - after.phase_at))
    refresh_at = max(before.updated_at, after.phase_at) + pause
    return now >= refresh_at, refresh_at
