"""Where scenarios part.

Scenarios that begin alike are one and the same run until something befalls one of them: the same requests, events and
answers at the same instants. What goes wrong in that part, and is over before they part, goes wrong in one of them: in
the first, where the core scenarios come before all others and are themselves struck everywhere.
"""

from collections.abc import Callable
from itertools import zip_longest
from math import inf

from tests.simulation.oracles.histories import History, Step
from tests.simulation.plans.plan import Fault
from tests.simulation.scenarios.catalogue import scenarios
from tests.simulation.scenarios.scenario import Scenario

CHANGES_THE_RUN = ("delete-pod", "edit-spec")
"""What is never over: another epoch runs from then on, or another command in the next one."""


def parting(scenario: Scenario, size: int, history: Callable[[str, int], History]) -> float:
    """The wall second at which a scenario's clean run parts from those of all scenarios before it; 0: from the start.

    ``history`` is asked for the clean runs, by scenario and size.
    """
    if scenario.core:
        return 0.0
    every = sorted(scenarios().values(), key=lambda each: not each.core)
    earlier = [each.name for each in every[: every.index(scenario)] if size in each.sizes]
    own = history(scenario.name, size)
    return max((_part(own, history(name, size)) for name in earlier), default=0.0)


def _part(one: History, other: History) -> float:
    return min(_differ(one.changes, other.changes), _differ(one.writes, other.writes))


def _differ(one: tuple[Step, ...], other: tuple[Step, ...]) -> float:
    """When two runs of steps first differ."""
    pairs = ((a, b) for a, b in zip_longest(one, other) if a is None or b is None or a.digest != b.digest)
    return min((step.at for step in next(pairs, ()) if step is not None), default=inf)


def lasting(fault: Fault) -> float:
    """Seconds until a fault has had all its effect."""
    return inf if fault.kind in CHANGES_THE_RUN else fault.seconds
