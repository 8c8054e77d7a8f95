"""Conditions: what is true of an experiment, each with a reason and a message, as ``kubectl wait`` reads them.

They are computed whole from the record, the assembly and the plan at every step, and keep the time of their last flip.
"""

from itertools import chain

from muster.state.facts.context import Context
from muster.state.facts.sentences import EXACT, placed, sentence, share, why_idle
from muster.state.policies.rendezvous import Assembly
from muster.state.vocabulary.record import Condition, ConditionType, Phase, Record

NO_COORDINATOR = "NoCoordinator"
"""Reason of a CoordinatorReady that is true because the operator has no coordinator."""
ROLL_NOT_SEEN = "RollNotSeen"
"""Reason of an Assembled that is false though no member was missing; it stays when the pods are gone."""
UNSEEN = "all members succeeded before the coordinator had shown them together"

Row = tuple[ConditionType, bool, str, str]


def renew(context: Context, assembly: Assembly, coordinator: str) -> tuple[Condition, ...]:
    """All conditions as they are now; ``since`` moves only where the status flipped.

    ``coordinator`` is its address. In most decisions they are as they were.
    """
    generation, held = context.plan.generation, context.record.conditions
    before = {condition.type: condition for condition in held}
    renewed = []
    for kind, status, reason, message in _rows(context, assembly, coordinator):
        old = before.get(kind)
        if old is None or old.status != status:
            old = Condition(kind, status, reason, message, generation, context.now)
        elif old.reason != reason or old.message != message or old.generation != generation:
            old = Condition(kind, status, reason, message, generation, old.since)
        renewed.append(old)
    return tuple(renewed)


def unseen(context: Context) -> bool:
    """All members succeeded before their roll was seen complete: nothing says that a rank was missing.

    A program that lives for a second may end before its coordinator is asked for the first time.
    """
    record = context.record
    if record.phase is not Phase.SUCCEEDED or record.assembled_at is not None:
        return False
    said = record.condition(ConditionType.ASSEMBLED)
    return context.tally.succeeded >= context.plan.size or (said is not None and said.reason == ROLL_NOT_SEEN)


def _rows(context: Context, assembly: Assembly, coordinator: str) -> tuple[Row, ...]:
    record, phase, over = context.record, context.record.phase, context.record.finished
    suspended, restarting = phase is Phase.SUSPENDED, phase is Phase.RESTARTING
    why = sentence(record.cause) if restarting and record.cause else ""
    stuck = assembly.stuck or ("NotStuck", "")
    return (
        (ConditionType.SUSPENDED, suspended, "Suspended" if suspended else "NotSuspended", ""),
        _scheduled(context),
        _coordinator(context, assembly, coordinator),
        _assembled(context, assembly),
        (ConditionType.RESTARTING, restarting, "GangRestart" if restarting else "NotRestarting", why),
        (ConditionType.STUCK, assembly.stuck is not None, *stuck),
        _ending(ConditionType.SUCCEEDED, record, Phase.SUCCEEDED),
        _ending(ConditionType.FAILED, record, Phase.FAILED),
        (ConditionType.FINISHED, over, record.reason if over else "Unfinished", record.message if over else ""),
    )


def _assembled(context: Context, assembly: Assembly) -> Row:
    if context.record.assembled_at is not None:
        return ConditionType.ASSEMBLED, True, "RollComplete", assembly.message
    if unseen(context):
        return ConditionType.ASSEMBLED, False, ROLL_NOT_SEEN, UNSEEN
    return ConditionType.ASSEMBLED, False, "RollIncomplete", assembly.message


def _ending(kind: ConditionType, record: Record, phase: Phase) -> Row:
    here = record.phase is phase
    return kind, here, record.reason if here else f"Not{phase}", record.message if here else ""


def _coordinator(context: Context, assembly: Assembly, address: str) -> Row:
    if context.plan.coordinator is None:
        return ConditionType.COORDINATOR_READY, True, NO_COORDINATOR, "the operator has no coordinator"
    if assembly.coordinator_ready:
        return ConditionType.COORDINATOR_READY, True, "Serving", f"serving at {address}"
    return ConditionType.COORDINATOR_READY, False, "NotServing", address


def _scheduled(context: Context) -> Row:
    """Every member had a node in this epoch."""
    if context.complete:
        return ConditionType.SCHEDULED, True, "AllScheduled", f"all {context.plan.together} members have a node"
    scheduled, size = context.tally.scheduled, context.plan.together
    tally = context.tally
    waiting = tally.idle.values() if size <= EXACT else chain(tally.unplaced.values(), tally.gated.values())
    unplaced = next((pod for pod in waiting if not pod.scheduled), None)
    if unplaced is None:
        return ConditionType.SCHEDULED, False, "Waiting", f"{share(scheduled, size)} members have a node"
    why = f"rank {unplaced.rank} ({placed(context, unplaced.rank, unplaced.name)}, {why_idle(unplaced)})"
    reason = unplaced.waiting_reason or "Waiting"
    return ConditionType.SCHEDULED, False, reason, f"{share(scheduled, size)} members have a node; {why}"
