"""Scenarios that begin alike.

Two scenarios make the same run (the same requests, events and answers at the same instants) until the first incident
or user action of one of them. A fault whose effect is over before that instant is played in one of the two only: in
the first one by order, where core scenarios come before all others and are themselves played completely.
"""

from collections.abc import Callable
from itertools import zip_longest
from math import inf

from tests.simulation.oracles.histories import History, Step
from tests.simulation.plans.plan import Fault
from tests.simulation.scenarios.catalogue import scenarios
from tests.simulation.scenarios.scenario import Scenario

LASTING = ("delete-pod", "edit-spec")
"""Faults whose effect never ends: another epoch runs afterwards, or another command in the next epoch."""


def first_difference(scenario: Scenario, size: int, history: Callable[[str, int], History]) -> float:
    """The wall-clock second at which a scenario's clean run differs from those of all scenarios before it; 0: at once.

    ``history`` returns the clean run of a scenario and size.
    """
    if scenario.core:
        return 0.0
    every = sorted(scenarios().values(), key=lambda each: not each.core)
    earlier = [each.name for each in every[: every.index(scenario)] if size in each.sizes]
    own = history(scenario.name, size)
    return max((_first_of(own, history(name, size)) for name in earlier), default=0.0)


def _first_of(one: History, other: History) -> float:
    return min(_differ(one.changes, other.changes), _differ(one.writes, other.writes))


def _differ(one: tuple[Step, ...], other: tuple[Step, ...]) -> float:
    """When two sequences of steps first differ."""
    pairs = ((a, b) for a, b in zip_longest(one, other) if a is None or b is None or a.digest != b.digest)
    return min((step.at for step in next(pairs, ()) if step is not None), default=inf)


def effect_seconds(fault: Fault) -> float:
    """Seconds until a fault has no further effect."""
    return inf if fault.kind in LASTING else fault.seconds
