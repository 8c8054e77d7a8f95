"""Conditions: what is true of an experiment, each with a reason and a message, as ``kubectl wait`` reads them.

They are computed whole from the record, the assembly and the plan at every step, and keep the time of their last flip.
"""

from collections.abc import Iterator

from muster.state.context import Case
from muster.state.messages import sentence, why_idle
from muster.state.policies.rendezvous import Assembly
from muster.state.record import Condition, ConditionType, Phase, Record

NO_COORDINATOR = "NoCoordinator"
"""Reason of a CoordinatorReady that is true because nobody needs one."""

Row = tuple[ConditionType, bool, str, str]


def renew(case: Case, assembly: Assembly) -> tuple[Condition, ...]:
    """All conditions as they are now; ``since`` moves only where the status flipped."""
    before = {condition.type: condition for condition in case.record.conditions}
    return tuple(_keep(case, before.get(row[0]), *row) for row in _rows(case, assembly))


def _keep(case: Case, old: Condition | None, kind: ConditionType, status: bool, reason: str, message: str) -> Condition:
    generation = case.plan.generation
    if old is None or old.status != status:
        return Condition(kind, status, reason, message, generation, case.now)
    if old.reason == reason and old.message == message and old.generation == generation:
        return old  # the usual case: most conditions of most looks are as they were
    return Condition(kind, status, reason, message, generation, old.since)


def _rows(case: Case, assembly: Assembly) -> Iterator[Row]:
    record = case.record
    suspended = record.phase is Phase.SUSPENDED
    yield ConditionType.SUSPENDED, suspended, "Suspended" if suspended else "NotSuspended", ""
    yield _scheduled(case)
    yield _coordinator(case, assembly)
    assembled = record.assembled_at is not None
    yield (
        ConditionType.ASSEMBLED,
        assembled,
        "RollComplete" if assembled else "RollIncomplete",
        assembly.message,
    )
    restarting = record.phase is Phase.RESTARTING
    cause = record.cause
    yield (
        ConditionType.RESTARTING,
        restarting,
        "GangRestart" if restarting else "NotRestarting",
        sentence(cause) if restarting and cause else "",
    )
    reason, message = assembly.stuck or ("NotStuck", "")
    yield ConditionType.STUCK, reason != "NotStuck", reason, message
    yield _ending(ConditionType.SUCCEEDED, record, Phase.SUCCEEDED)
    yield _ending(ConditionType.FAILED, record, Phase.FAILED)
    over = record.finished
    yield ConditionType.FINISHED, over, record.reason if over else "Unfinished", record.message if over else ""


def _ending(kind: ConditionType, record: Record, phase: Phase) -> Row:
    here = record.phase is phase
    return kind, here, record.reason if here else f"Not{phase}", record.message if here else ""


def _coordinator(case: Case, assembly: Assembly) -> Row:
    if case.plan.coordinator is None:
        return ConditionType.COORDINATOR_READY, True, NO_COORDINATOR, "the members meet nowhere"
    address = case.plan.coordinator_address(case.record.epoch)
    if assembly.coordinator_ready:
        return ConditionType.COORDINATOR_READY, True, "Serving", f"serving at {address}"
    return ConditionType.COORDINATOR_READY, False, "NotServing", address


def _scheduled(case: Case) -> Row:
    """Every member had a node in this epoch."""
    if case.complete:
        return ConditionType.SCHEDULED, True, "AllScheduled", f"all {case.plan.together} members have a node"
    scheduled, size = case.tally.scheduled, case.plan.together
    unplaced = next((pod for pod in case.tally.idle.values() if not pod.scheduled), None)
    if unplaced is None:
        return ConditionType.SCHEDULED, False, "Waiting", f"{scheduled}/{size} members have a node"
    why = f"rank {unplaced.rank} ({unplaced.name}, {why_idle(unplaced)})"
    reason = unplaced.waiting_reason or "Waiting"
    return ConditionType.SCHEDULED, False, reason, f"{scheduled}/{size} members have a node; {why}"
