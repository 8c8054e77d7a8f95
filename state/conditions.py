"""Conditions: what is true of an experiment, each with a reason and a message, as ``kubectl wait`` reads them.

They are computed whole from the record, the assembly and the plan at every step, and keep the time of their last flip.
"""

from collections.abc import Iterator

from state.because import sentence, why_idle
from state.case import Case
from state.policies.rendezvous import Assembly
from state.record import Condition, ConditionType, Phase, Record

Row = tuple[ConditionType, bool, str, str]


def renew(case: Case, assembly: Assembly | None) -> tuple[Condition, ...]:
    """All conditions as they are now; ``since`` moves only where the status flipped."""
    return tuple(_keep(case, *row) for row in _rows(case, assembly))


def _keep(case: Case, kind: ConditionType, status: bool, reason: str, message: str) -> Condition:
    old = case.record.condition(kind)
    since = old.since if old and old.status == status else case.now
    return Condition(kind, status, reason, message, case.plan.generation, since)


def _rows(case: Case, assembly: Assembly | None) -> Iterator[Row]:
    record = case.record
    suspended = record.phase is Phase.SUSPENDED
    yield ConditionType.SUSPENDED, suspended, "Suspended" if suspended else "NotSuspended", ""
    yield _scheduled(case)
    ready = assembly is not None and assembly.coordinator_ready
    address = case.plan.coordinator_address(record.epoch)
    yield ConditionType.COORDINATOR_READY, ready, "Serving" if ready else "NotServing", address
    assembled = record.assembled_at is not None
    yield (
        ConditionType.ASSEMBLED,
        assembled,
        "RollComplete" if assembled else "RollIncomplete",
        assembly.message if assembly else "",
    )
    restarting = record.phase is Phase.RESTARTING
    cause = record.cause
    yield (
        ConditionType.RESTARTING,
        restarting,
        "GangRestart" if restarting else "NotRestarting",
        sentence(cause) if restarting and cause else "",
    )
    reason, message = assembly.stuck if assembly and assembly.stuck else ("NotStuck", "")
    yield ConditionType.STUCK, reason != "NotStuck", reason, message
    yield _ending(ConditionType.SUCCEEDED, record, Phase.SUCCEEDED)
    yield _ending(ConditionType.FAILED, record, Phase.FAILED)
    over = record.finished
    yield ConditionType.FINISHED, over, record.reason if over else "Unfinished", record.message if over else ""


def _ending(kind: ConditionType, record: Record, phase: Phase) -> Row:
    here = record.phase is phase
    return kind, here, record.reason if here else f"Not{phase}", record.message if here else ""


def _scheduled(case: Case) -> Row:
    """Every member had a node in this epoch."""
    if case.complete:
        return ConditionType.SCHEDULED, True, "AllScheduled", f"all {case.plan.size} members have a node"
    scheduled, size = case.tally.scheduled, case.plan.size
    unplaced = next((pod for pod in case.tally.idle.values() if not pod.scheduled), None)
    if unplaced is None:
        return ConditionType.SCHEDULED, False, "Waiting", f"{scheduled}/{size} members have a node"
    why = f"rank {unplaced.rank} ({unplaced.name}, {why_idle(unplaced)})"
    reason = unplaced.waiting_reason or "Waiting"
    return ConditionType.SCHEDULED, False, reason, f"{scheduled}/{size} members have a node; {why}"
