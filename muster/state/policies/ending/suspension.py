"""Suspension: ``spec.suspend`` deletes the gang and keeps the experiment; ``spec.cancel`` ends it.

A suspended experiment starts anew when it is resumed: a new epoch, a new total clock, no restart counted.
"""

from muster.state.context import Context, Fail, Resume, Suspend
from muster.state.record import Phase


def judge(context: Context) -> Suspend | Resume | Fail | None:
    """Follow ``spec.suspend`` and ``spec.cancel``."""
    if context.plan.cancel:
        return Fail("Cancelled", "cancelled by spec.cancel")
    suspended = context.record.phase is Phase.SUSPENDED
    if context.plan.suspend and not suspended:
        return Suspend()
    if suspended and not context.plan.suspend:
        return Resume()
    return None
