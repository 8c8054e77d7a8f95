"""The steps in the status: how far the programs have come that report them, for people who read the API server only.

They move all the time, and a write for each would be a write a second. So they are written with whatever else is, and
by themselves once a minute at most, from the budget of words; ``Steps.at`` says how old they are. A gang that reports
nothing, or gets on no more, costs no write.
"""

from muster.state.facts.context import Context
from muster.state.view.progress import shown_rate
from muster.state.vocabulary.record import Record, Steps

STEPS_AFTER = 60.0
"""Seconds after the last write of the status within which a further step is written."""


def read(context: Context) -> Steps | None:
    """The steps as they were read last. Those of the epoch before stay until the next one reports."""
    kept, epoch = context.record.steps, context.record.epoch
    seen = context.view.progress_of(epoch) or (context.view.progress_of(epoch - 1) if epoch else None)
    if seen is None or (kept is not None and kept.epoch > seen.epoch):
        return kept
    rate = "" if seen.rate is None else shown_rate(seen.rate).replace(",", "")
    return Steps(seen.epoch, seen.step, rate, seen.reporting, seen.read_at)


def write_at(before: Record, after: Record, now: float) -> float | None:
    """When ``after`` is written for its steps alone; None where the programs have come no further."""
    if after.finished or after.steps is None:
        return None
    if before.steps is not None and (before.steps.epoch, before.steps.step) == (after.steps.epoch, after.steps.step):
        return None
    return min(before.updated_at, now) + STEPS_AFTER
