"""How many ranks have arrived, from whatever is known best at this moment."""

from typing import NamedTuple

from muster.state.policies.silence import known
from muster.state.view.read_only import ReadOnlyView
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Record


class Arrivals(NamedTuple):
    """``missing`` is what is left of the plan's size."""

    arrived: int
    missing: int


def arrivals(plan: Plan, record: Record, view: ReadOnlyView, now: float) -> Arrivals | None:
    """The counts of the record's epoch; None where they are not known at ``now``, in wall seconds.

    They are not where the coordinator speaks of rank 0 only, or has served and does not answer any more.
    The coordinator's answer counts, then the record (a daemon that has just started has no answer yet). Without a
    coordinator that can be asked, a member has arrived when its pod is ready or done, as in the rendezvous policy.
    """
    size = plan.size
    if plan.asked is None:
        tally = view.of(record.epoch)
        arrived = tally.ready + tally.succeeded
    elif standing := view.probe_result_of(record.epoch):
        silent = not standing.served and record.roll is not None and record.roll.arrived > 0
        if standing.answer.partial or silent or not known(plan.asked, standing, now):
            return None
        arrived = standing.arrived
    else:
        arrived = record.roll.arrived if record.roll else 0
    arrived = min(arrived, size)
    return Arrivals(arrived, size - arrived)
