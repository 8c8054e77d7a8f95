"""Disruptions in a row: what the platform does to a gang costs no restart, but it is not repeated without end.

A single preemption is normal, and the gang starts again at once. But a platform that disrupts every epoch before the
gang gets anywhere (a node that kills its pods, a controller that deletes them) would restart it several times a second.
So the gang waits from the second disruption in a row, as long as for counted restarts, is called stuck from the third,
and fails after ``maxDisruptions`` of them if the spec asks for that.

Progress ends the row: the gang was assembled and then ran for ``PROGRESS`` seconds. If the coordinator was never heard
in this epoch (it cannot be reached, or the program has none), it is unknown whether the gang is assembled. Then it is
progress that all programs run ``UNSEEN_PROGRESS`` seconds after the first one began.
"""

from muster.state.facts.context import Context
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Phase, Record

PROGRESS = 300.0
"""Seconds of an assembled gang that count as progress: as long as the longest default back-off, so that a gang in a
loop spends less time at work than it may have to wait."""
UNSEEN_PROGRESS = 2 * PROGRESS
"""Seconds if no roll can be seen: longer, because the last program may have begun long after the first."""
LOOP = 3
"""Disruptions in a row from which the gang is called stuck."""
REASON = "DisruptionLoop"


def progress_at(context: Context) -> float | None:
    """Return when the row of disruptions will have ended, if the gang keeps running."""
    return worked_at(context) if context.record.consecutive_disruptions else None


def worked_at(context: Context) -> float | None:
    """Return when the gang will have made progress in this epoch, if it keeps running; None while it does not work."""
    record = context.record
    if record.phase is Phase.RUNNING and record.assembled_at is not None:
        return record.assembled_at + PROGRESS
    if record.phase is Phase.ASSEMBLING and record.assembling_at is not None and _runs_unseen(context):
        return record.assembling_at + UNSEEN_PROGRESS
    return None


def _runs_unseen(context: Context) -> bool:
    """Return True if all programs run, and the coordinator was not heard in this epoch."""
    probe, roll, tally = context.probe, context.record.roll, context.tally
    heard = (probe is not None and probe.served) or (roll is not None and roll.arrived > 0)
    return not heard and not tally.idle and tally.working >= context.plan.together


def exhausted(plan: Plan, record: Record) -> bool:
    """Return True if one more disruption is more than the spec allows."""
    return plan.restarts.max_disruptions is not None and record.consecutive_disruptions >= plan.restarts.max_disruptions


def loops(context: Context) -> bool:
    """Return True if the gang is disrupted again and again, and so is stuck."""
    record = context.record
    return record.consecutive_disruptions >= LOOP and not record.finished and record.phase is not Phase.SUSPENDED
