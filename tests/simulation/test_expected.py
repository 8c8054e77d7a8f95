"""Each known violation is still there: once it is fixed its entry must go."""

import pytest

from tests.simulation import runner
from tests.simulation.expected import EXPECTED, Expected
from tests.simulation.oracles.judge import play
from tests.simulation.plans.plan import parse


@pytest.mark.parametrize("known", EXPECTED, ids=lambda known: known.shown_by)
def test_a_known_violation_is_still_there_and_fails_no_plan(known: Expected) -> None:
    plan = parse(known.shown_by)
    found = play(plan, runner.reference(plan.scenario, plan.size, plan.operator)).violations
    assert any(known.matches(plan, each) for each in found), "it is fixed: remove the entry"
    assert not runner.judge(plan).violations
