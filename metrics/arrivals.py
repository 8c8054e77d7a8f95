"""How many ranks have arrived, from whatever is known best at this moment."""

from typing import NamedTuple

from muster.state.plan import Plan
from muster.state.record import Record
from muster.state.view.view import View


class Arrivals(NamedTuple):
    """``missing`` is what is left of the plan's size."""

    arrived: int
    missing: int


def arrivals(plan: Plan, record: Record, view: View) -> Arrivals | None:
    """The counts of the record's epoch, or None where the coordinator speaks of rank 0 only.

    The coordinator's answer counts, then the record (a daemon that has just started has no answer yet). Without a
    coordinator that can be asked, a member has arrived when its pod is ready or done, as in the rendezvous policy.
    """
    size = plan.size
    if plan.coordinator is None or plan.coordinator.probe.passive:
        tally = view.of(record.epoch)
        arrived = tally.ready + tally.succeeded
    elif standing := view.probe_result_of(record.epoch):
        if standing.answer.partial:
            return None
        arrived = standing.arrived
    else:
        arrived = record.roll.arrived if record.roll else 0
    arrived = min(arrived, size)
    return Arrivals(arrived, size - arrived)
