"""Suspension: ``spec.suspend`` takes the gang away and keeps the experiment; ``spec.cancel`` ends it.

A suspended experiment starts anew when it is resumed: a new epoch, a new total clock, no restart counted.
"""

from muster.state.context import Case, Fail, Resume, Suspend
from muster.state.record import Phase


def judge(case: Case) -> Suspend | Resume | Fail | None:
    """Follow the spec's wish."""
    if case.plan.cancel:
        return Fail("Cancelled", "cancelled by spec.cancel")
    suspended = case.record.phase is Phase.SUSPENDED
    if case.plan.suspend and not suspended:
        return Suspend()
    if suspended and not case.plan.suspend:
        return Resume()
    return None
