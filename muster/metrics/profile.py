"""The series of a run that are exported: all, or the few that boards, or alerts and rules, need of it.

A run that is not well has all of its series, zeros too, so that no query meets a gap while people look at it: one that
is Stuck, has ranks missing, starts, restarts or waits, and any for ``SETTLED`` after that. One that is well has no more
than it shows: of what is one of several (phase, state, cause, reason) only what holds. Where many run, it has only what
the rows of the catalogue mark as ``lean``: no alert and no rule reads anything else.

So a fleet costs what its troubles cost, and no run is without its alerts.
"""

from enum import IntEnum

from muster.metrics.catalogue import SETTLED
from muster.metrics.rows.row import Lean, Metric
from muster.state.view.view import View
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import ConditionType, Phase, Record


class Profile(IntEnum):
    """Extent of the series of one run."""

    WHOLE = 0
    """Every row, with zeros."""
    LEAN = 1
    """Every row. A row that is one of several has no zeros."""
    LEANEST = 2
    """Series that alerts and rules read."""

    def omits(self, row: Metric, value: float) -> bool:
        """Leave out that sample."""
        return not value and self is Profile.LEANEST and row.lean is Lean.NOT_ZERO


def is_well(plan: Plan, record: Record, view: View, now: float) -> bool:
    """Return whether the run has settled at work with all of its ranks."""
    if record.phase is not Phase.RUNNING or now - record.phase_at < SETTLED:
        return False
    stuck = record.condition(ConditionType.STUCK)
    if stuck is not None and (stuck.status or now - stuck.since < SETTLED):
        return False
    found = view.probe_result_of(record.epoch)
    if found is not None and (not found.serving or found.missing):
        return False
    pods = view.of(record.epoch)
    return pods.ready + pods.succeeded >= plan.size
