"""The outcome of a plan, and what of it is compared with the clean run."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from tests.scenarios.scenario import charged_in
from tests.simulation.oracles.histories import History
from tests.simulation.oracles.isolation import Course
from tests.simulation.plans.plan import Plan
from tests.simulation.world.world import World

UNCOMPARED = ("events", "leases")
"""What no decision reads."""


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a plan. ``summary`` is what is compared with the clean run."""

    plan: Plan
    violations: tuple[str, ...]
    summary: dict[str, Any]
    ended: float
    courses: dict[str, Course]
    history: History | None = None
    """Every step, if this is the clean run or was not compared with one."""


def summarize(world: World) -> dict[str, Any]:
    """What is compared: how each experiment stands, and which objects were created, deleted and left."""
    changes = [change for change in world.changes if change.resource not in UNCOMPARED]
    made = Counter(change.path for change in changes if change.kind == "ADDED")
    gone = Counter(change.path for change in changes if change.kind == "DELETED")
    return {
        "experiments": {name: _status(world, name) for name in world.scenario.ends},
        "created": dict(sorted(made.items())),
        "deleted": dict(sorted(gone.items())),
        "left": {pod["metadata"]["name"]: pod["status"]["phase"] for pod in world.members()},
    }


def _status(world: World, name: str) -> dict[str, Any] | None:
    obj = world.experiment_named(name)
    if obj is None:
        return None
    status = obj.get("status") or {}
    conditions = {c["type"]: (c["status"], c["reason"]) for c in status.get("conditions", ())}
    return {**charged_in(status), "conditions": conditions}
