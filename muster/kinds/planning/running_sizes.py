"""The plan of an object of another kind that was edited while it runs: as many pods as the run was begun with.

Members that the run was not begun with would count as lost. So the record holds how many pods each group has, and new
numbers hold when the object was suspended and is resumed. Everything else is as the object says now.
"""

from dataclasses import replace

from muster.kinds.declaration.plan_error import PlanError
from muster.kinds.declaration.run_kind import Object, RunKind
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Phase, Record


def plan_of(kind: RunKind, obj: Object, known: Plan | None, record: Record | None) -> Plan:
    """The plan of the object; ``known`` is the one so far. Raises ``SpecError`` or ``PlanError``."""
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
