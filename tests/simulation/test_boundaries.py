"""The places at which faults are injected."""

import pytest

from tests.scenarios.catalogue import scenarios
from tests.scenarios.operators import OPERATORS
from tests.simulation import runner
from tests.simulation.plans.boundaries import SEEN, Boundaries, recorded
from tests.simulation.plans.families import FAMILIES, gangs
from tests.simulation.plans.plan import parse

pytestmark = pytest.mark.slow

CORE = [scenario.name for scenario in scenarios().values() if scenario.core]


@pytest.mark.parametrize("operator", OPERATORS)
def test_each_phase_has_its_first_write_and_change_of_each_sort(operator: str) -> None:
    clean = runner.reference("member-fails", 4, operator)
    history, places = recorded(clean), Boundaries(clean)
    writes = {(step.stage, step.sort) for step in history.writes if step.resource != "events"}
    assert {(history.writes[at - 1].stage, history.writes[at - 1].sort) for at in places.writes} >= writes
    changes = {(step.stage, step.sort) for step in history.changes if step.resource in SEEN}
    assert {(history.changes[at - 1].stage, history.changes[at - 1].sort) for at in places.versions} == changes
    assert len(places.writes) < len(history.writes)


def test_every_kind_of_fault_meets_every_operator_and_every_scenario_has_plans() -> None:
    single = [family for family in FAMILIES if family != "two-crashes"]  # a pair has no kind that one crash has not
    met = {
        (plan.operator, fault.kind)
        for _, line in runner.exhaustive(single, CORE)
        for plan in [parse(line)]
        for fault in plan.faults
    }
    kinds = {kind for operator, kind in met if operator == "jax"}
    assert met == {(operator, kind) for operator in OPERATORS for kind in kinds}
    assert all(list(gangs(scenario)) for scenario in scenarios().values())
