"""The own status of an object of another kind: what its readers know, beside the record in the same write.

It is computed from the plan, the record and the view, so it may change while the record stays: another pod is ready.
Such a change is written at once where a condition turns, else 4 s after the last write, both from the object's write
budget (``muster.state.summary.status`` has the same rule for the sentences of an Experiment).
"""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from muster.kinds.registry.run_kinds import RUN_KINDS
from muster.state.decide.machine import Decision
from muster.state.summary.status import WORDS_AFTER
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Record
from muster.tracking.entry import Entry

OTHER_CONTROLLER = "OtherController"
"""Reason of the refusal for an object whose pods another controller makes."""


def own_status(entry: Entry, record: Record) -> dict[str, Any]:
    """The own status that goes with this record. Without a plan it says why there is none, or stays as it is."""
    kind = RUN_KINDS[entry.seen.kind]
    if entry.plan is None and not record.finished:
        return dict(entry.own)
    if entry.plan is None:
        return kind.refused(record, entry.own)
    return kind.status_of(entry.plan, record, entry.view, entry.own)


def with_own_status(entry: Entry, plan: Plan, decision: Decision, now: float) -> Decision:
    """The decision, with a write where the object's own status is due."""
    if decision.write or decision.read_first or plan.lifecycle.deleting or decision.record.updated_at == 0.0:
        return decision
    refusal = entry.view.engine.refusal
    if refusal is not None and refusal.reason == OTHER_CONTROLLER:
        return decision  # that one writes the status, too
    wanted = own_status(entry, decision.record)
    if wanted == entry.own:
        return decision
    written_at = min(decision.record.updated_at, now)  # a wall clock that was set back must not silence the status
    soon = now if _turns(wanted) != _turns(entry.own) else written_at + WORDS_AFTER
    at = max(soon, entry.view.writes.free_at(now))
    if now >= at:
        return replace(decision, record=replace(decision.record, updated_at=now), write=True, paid=True)
    wake_at = at if decision.wake_at is None else min(at, decision.wake_at)
    return replace(decision, wake_at=wake_at)


def _turns(status: Mapping[str, Any]) -> list[tuple[object, ...]]:
    """Type and status of each condition."""
    return [(each.get("type"), each.get("status")) for each in status.get("conditions") or ()]
