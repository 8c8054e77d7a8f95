"""Conditions: the facts of an experiment, each with a reason and a message, as ``kubectl wait`` reads them.

They are computed whole from the record, the assembly and the plan at every step, and keep the time of their last flip.
A reason that changes while the status stays has a time of its own. The reasons of a hang share one: they are evidence.
"""

from itertools import chain

from muster.state.facts.context import Context
from muster.state.facts.hang import HANGS
from muster.state.facts.sentences import EXACT, sentence, share, waits
from muster.state.policies.rendezvous import Assembly
from muster.state.summary.gathering import Gathering
from muster.state.vocabulary.record import Condition, ConditionType, Phase

NO_COORDINATOR = "NoCoordinator"
"""Reason of a CoordinatorReady that is true because the operator has no coordinator."""
ROLL_NOT_SEEN = "RollNotSeen"
"""Reason of an Assembled that is false though no member was missing; it stays when the pods are gone."""
NOT_SUCCEEDED, NOT_FAILED, UNFINISHED = (False, "NotSucceeded", ""), (False, "NotFailed", ""), (False, "Unfinished", "")
UNSEEN = "all members succeeded before the coordinator had shown them together"

Row = tuple[bool, str, str]
"""Status, reason and message of one condition."""


def renew(context: Context, assembly: Assembly, gathered: Gathering, coordinator: str) -> tuple[Condition, ...]:
    """Return all conditions as they are now; ``since`` moves only if the status flipped, ``reason_at`` with the reason.

    ``coordinator`` is its address.
    """
    generation, rows = context.plan.generation, _rows(context, assembly, gathered, coordinator)
    before = {each.type: each for each in context.record.conditions}  # of another version of Muster there may be others
    return tuple(
        Condition(kind, status, reason, message, generation, *_times(before.get(kind), status, reason, context.now))
        for kind, (status, reason, message) in zip(ConditionType, rows, strict=True)
    )


def _times(old: Condition | None, status: bool, reason: str, now: float) -> tuple[float, float | None]:
    """Return when the status last changed, and when the reason did since."""
    if old is None or old.status != status:
        return now, None
    same = old.reason == reason or (old.reason in HANGS and reason in HANGS)
    return old.since, old.reason_at if same else now


def roll_never_seen(context: Context) -> bool:
    """Return True if all members succeeded before their roll was seen complete: nothing shows that a rank was missing.

    A program that lives for a second may end before its coordinator is asked for the first time.
    """
    record = context.record
    if record.assembled_at is not None or record.phase is not Phase.SUCCEEDED:
        return False
    assembled = record.condition(ConditionType.ASSEMBLED)
    return context.tally.succeeded >= context.plan.size or (assembled is not None and assembled.reason == ROLL_NOT_SEEN)


def _rows(context: Context, assembly: Assembly, gathered: Gathering, coordinator: str) -> tuple[Row, ...]:
    """Return the row of each ``ConditionType``, in their order."""
    record, phase, over = context.record, context.record.phase, context.record.finished
    suspended, restarting = phase is Phase.SUSPENDED, phase is Phase.RESTARTING
    why = sentence(record.cause) if restarting and record.cause else ""
    stuck = assembly.stuck or "NotStuck"
    return (
        (suspended, "Suspended" if suspended else "NotSuspended", ""),
        _scheduled(context),
        _coordinator(context, assembly, coordinator),
        _assembled(context, gathered.roll, over=over),
        (restarting, "GangRestart" if restarting else "NotRestarting", why),
        (bool(assembly.stuck), stuck, gathered.stuck),
        (True, record.reason, record.message) if over and phase is Phase.SUCCEEDED else NOT_SUCCEEDED,
        (True, record.reason, record.message) if over and phase is Phase.FAILED else NOT_FAILED,
        (True, record.reason, record.message) if over else UNFINISHED,
    )


def _assembled(context: Context, roll: str, *, over: bool) -> Row:
    if context.record.assembled_at is not None:
        return True, "RollComplete", roll
    if over and roll_never_seen(context):
        return False, ROLL_NOT_SEEN, UNSEEN
    return False, "RollIncomplete", roll


def _coordinator(context: Context, assembly: Assembly, address: str) -> Row:
    if context.plan.coordinator is None:
        return True, NO_COORDINATOR, "the operator has no coordinator"
    if assembly.coordinator_ready:
        return True, "Serving", f"serving at {address}"
    return False, "NotServing", f"not serving at {address}"


def _scheduled(context: Context) -> Row:
    """Return the row of Scheduled: true once every member had a node in this epoch."""
    tally, size = context.tally, context.plan.together
    if context.complete:
        return True, "AllScheduled", "its only member has a node" if size == 1 else f"all {size} members have a node"
    waiting = tally.idle.values() if size <= EXACT else chain(tally.unplaced.values(), tally.gated.values())
    unplaced = next((pod for pod in waiting if not pod.scheduled), None)
    if unplaced is None:
        return False, "Waiting", f"{share(tally.scheduled, size)} members have a node"
    reason = unplaced.waiting_reason or "Waiting"
    return False, reason, f"{share(tally.scheduled, size)} members have a node; {waits(context, unplaced)}"
