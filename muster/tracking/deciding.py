"""Decides about a watched run, and keeps its record in memory."""

from typing import Final

from muster.state.decide.machine import Decision, decide
from muster.state.vocabulary.record import Phase
from muster.tracking.entry import Entry

MOST_TURNS: Final = 16
"""Most decisions in a row at one moment; each moves a run by at most one phase."""


def keep(entry: Entry, decision: Decision, now: float) -> None:
    """Take over the record of a decision, in place of a status that nobody writes."""
    entry.record = decision.record
    if decision.record.phase is Phase.SUSPENDED:
        entry.view.forget_coordinator()
    entry.step -= decision.moved
    if decision.paid:
        entry.view.writes.spend(now)


def settle(entry: Entry, now: float) -> Decision:
    """Decide until nothing more follows at this moment. The entry has a plan, and a record afterwards."""
    assert entry.plan is not None
    for _ in range(MOST_TURNS):
        before, decision = entry.record, decide(entry.plan, entry.record, entry.view, now, step=entry.step)
        if decision.write or before is None:
            keep(entry, decision, now)
        if (decision.wake_at is None or decision.wake_at > now) and not decision.write:
            break
    return decision
