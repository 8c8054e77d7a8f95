"""The declaration of a kind that Muster runs, beside Experiments.

How a spec becomes a plan, and a record the kind's own status.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from muster.api.gang import GroupSize
from muster.api.manifest.problems import Problem
from muster.api.manifest.yaml.reader import Node
from muster.api.names import MANAGED_BY
from muster.api.values.timestamps import whole_time
from muster.kinds.declaration.plan_error import PlanError
from muster.kinds.declaration.watched_kind import Object, list_of, part_of
from muster.state.view.view import View
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Phase, Record
from muster.state.vocabulary.subject import Subject


def refused(record: Record, before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the own status of an object whose spec cannot be planned: the condition Failed has the reason."""
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
    """One kind.

    ``manager`` is the field of an object that names its manager, and ``unmanaged`` is True if Muster runs one without
    it. ``parse(object, file, node)`` reads an object from the API server or from a file, and raises ``SpecError``.
    ``plan_of`` raises ``SpecError`` or ``PlanError``. ``status_of(plan, record, view, before)`` is the kind's own
    status, without the record; ``before`` is the one that is persisted, from which conditions keep the time of their
    last change; the time of this write is ``record.updated_at``. ``with_sizes`` is an object that can be planned, with
    other numbers of pods. ``ended`` are the conditions after which such an object never runs again: one that has them
    and no record ended before Muster was installed.
    """

    subject: Subject
    manager: tuple[str, ...]
    parse: Callable[[Object, str, Node | None], object]
    plan_of: Callable[[Object], Plan]
    status_of: Callable[[Plan, Record, View, Mapping[str, Any]], dict[str, Any]]
    with_sizes: Callable[[Object, Sequence[GroupSize]], Object]
    install: str
    """Advice for an API server that does not serve the kind."""
    unmanaged: bool = False
    by_phase: bool = False
    """True if the phase of its pods decides how they ended, as for the Job controller."""
    traps: Callable[[Node, str], tuple[Problem, ...]] = lambda _node, _file: ()
    """Warnings about an object in a file that is valid and does not do what its author expects."""
    ended: frozenset[str] = frozenset()
    refused: Callable[[Record, Mapping[str, Any]], dict[str, Any]] = refused

    def ours(self, obj: Object) -> bool:
        """Return True if an object is Muster's to run, from the object alone."""
        value = part_of(obj, *self.manager[:-1]).get(self.manager[-1])
        return value == MANAGED_BY or (self.unmanaged and value in (None, ""))

    def over(self, status: object) -> bool:
        """Return True if a status without a record shows that the object has ended."""
        conditions = map(part_of, list_of(status, "conditions"))
        return any(each.get("status") == "True" and str(each.get("type")) in self.ended for each in conditions)


def plan_as_begun(kind: RunKind, obj: Object, known: Plan | None, record: Record | None) -> Plan:
    """Return the plan of the object; ``known`` is the one so far. Raises ``SpecError`` or ``PlanError``.

    An object that is edited while it runs keeps the numbers of pods that the run was begun with, which the record
    holds: other members would count as lost. New numbers hold when it was suspended and is resumed. Everything else is
    as in the object now.
    """
    plan = kind.plan_of(obj)
    if record is None or record.finished or record.phase is Phase.SUSPENDED or record.groups in ((), plan.edits.sizes):
        return plan
    field = f"spec.{plan.edits.shape.partition('=')[0]}"
    begun, named = [each.name for each in record.groups], [each.name for each in plan.edits.sizes]
    if begun == named:
        known = kind.plan_of(kind.with_sizes(obj, record.groups))
    elif known is None and plan.lifecycle.suspend:  # its pods go, whatever the names of their groups
        return plan
    elif known is None:
        was, now = ", ".join(begun), ", ".join(named)
        raise PlanError(f"{field}: the run was begun with {was}, and these are {now}; write the former, or suspend it")
    return replace(
        plan,
        groups=known.groups,
        coordinator=known.coordinator,
        edits=replace(plan.edits, sizes=record.groups, waits=field),
    )
