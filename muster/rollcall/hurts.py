"""What hurts an experiment, for the filters of the page and the order of its rows.

Beside the status (``muster.state.summary.hurt``) the daemon sees the roll and every running clock.
"""

from muster.rollcall.seats import arrivals
from muster.state.policies.deadline import ends
from muster.state.summary.hurt import NEAR, Hurt, near
from muster.state.summary.hurt import hurts as with_facts
from muster.state.view.read_only import ReadOnlyView
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Record
from muster.state.vocabulary.rules import ClockName


def hurts(plan: Plan, record: Record, view: ReadOnlyView, now: float) -> tuple[Hurt, ...]:
    """What hurts that experiment, in the order of `Hurt`."""
    roll = None if record.finished else arrivals(plan, record, view, now)
    deadline_near = any(end - now < _near(plan, name) for name, end in ends(plan, record).items())
    return with_facts(record, missing=roll is not None and bool(roll.missing), deadline_near=deadline_near)


def _near(plan: Plan, name: ClockName) -> float:
    clock = plan.clock(name)
    return near(clock.after) if clock is not None else NEAR
