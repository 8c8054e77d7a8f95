"""What Muster knows of a foreign kind: how a spec becomes a plan, and a record the kind's own status."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from muster.api.gang import GroupSize
from muster.api.values.timestamps import whole_time
from muster.state.view.read_only import ReadOnlyView
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Record
from muster.state.vocabulary.subject import Subject

Object = Mapping[str, Any]
"""A decoded API object."""

MANAGED_BY: Final = "muster.dev/muster"
"""The value of ``spec.managedBy`` that hands an object to Muster."""


def refused(record: Record, before: Mapping[str, Any]) -> dict[str, Any]:
    """The own status of an object whose spec cannot be planned: the condition Failed says why."""
    at = whole_time(record.updated_at)
    failed = {
        "type": "Failed",
        "status": "True",
        "reason": record.reason,
        "message": record.message,
        "lastTransitionTime": at,
    }
    others = [each for each in before.get("conditions") or () if each.get("type") != "Failed"]
    return {**before, "conditions": [*others, failed]}


@dataclass(frozen=True, slots=True)
class RunKind:
    """One foreign kind.

    ``ours`` says whether an object is Muster's to run, from the object alone. ``plan_of`` raises ``SpecError`` or
    ``PlanError``. ``status_of(plan, record, view, before)`` is the kind's own status, without the record; ``before`` is
    the one that is persisted, from which conditions keep the time of their last change; the time of this write is
    ``record.updated_at``. ``with_sizes`` is an object that can be planned, with other numbers of pods. ``ended`` are
    the conditions after which such an object never runs again: one that has them and no record ended before Muster
    came.
    """

    subject: Subject
    ours: Callable[[Object], bool]
    plan_of: Callable[[Object], Plan]
    status_of: Callable[[Plan, Record, ReadOnlyView, Mapping[str, Any]], dict[str, Any]]
    with_sizes: Callable[[Object, Sequence[GroupSize]], Object]
    ended: frozenset[str] = frozenset()
    refused: Callable[[Record, Mapping[str, Any]], dict[str, Any]] = refused

    def over(self, status: object) -> bool:
        """Whether a status without a record says that the object has ended."""
        conditions = status.get("conditions") if isinstance(status, Mapping) else None
        if not isinstance(conditions, list):
            return False
        return any(
            isinstance(each, Mapping) and each.get("status") == "True" and str(each.get("type")) in self.ended
            for each in conditions
        )
