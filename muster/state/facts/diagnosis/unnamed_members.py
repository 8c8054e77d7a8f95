"""Members that are missing by count alone: the coordinator counts them and does not name them.

Members that something else keeps are taken off first. Of the rest any one that runs may be missing.
"""

from collections.abc import Collection

from muster.api.values.rank_ranges import to_ranges
from muster.state.facts.causes.table import Causes
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.finding import NAMED_RANGES, Finding
from muster.state.facts.diagnosis.next_steps import next_step


def of_count(context: Context, found: Collection[int]) -> Finding | None:
    """How many have not arrived without a cause of their own, and which ranks they are among.

    ``found`` are the ranks with a cause. A candidate has a pod that runs; the coordinator has arrived.
    """
    coordinator, probe, tally = context.plan.coordinator, context.probe, context.tally
    if coordinator is None or probe is None or probe.answer.joined is None or not probe.serving:
        return None
    size = context.plan.size
    missing = size - probe.arrived - sum(rank != coordinator.rank for rank in found)
    ranks = sorted(rank for rank in tally.members if rank not in found and rank not in tally.done)
    ranks = [rank for rank in ranks if rank != coordinator.rank]
    if missing <= 0 or not ranks:
        return None
    which = f"{'rank' if len(ranks) == 1 else 'ranks'} {to_ranges(ranks, NAMED_RANGES)}"
    has = "has" if missing == 1 else "have"
    known = missing == len(ranks)
    what = f"{missing} of {size} {has} not arrived; "
    what += f"by their number {which}" if known else f"the store does not say which of {which}"
    cause = Causes.NOT_ARRIVED
    return Finding(
        cause=cause,
        ranks=tuple(ranks) if known else (),
        count=missing,
        what=what,
        evidence=f"{probe.answer.detail}; {probe.answer.partial}",
        next_step=next_step(context, cause, ranks[0], ""),
    )
