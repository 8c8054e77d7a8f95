"""Scenarios that begin alike make the same run until they differ, with the same fault in it, too."""

import pytest

from tests.simulation import runner
from tests.simulation.oracles.final import play
from tests.simulation.plans.fault_points import recorded
from tests.simulation.plans.plan import Fault, Plan, parse
from tests.simulation.plans.shared_prefixes import effect_seconds, first_difference
from tests.simulation.scenarios.catalogue import scenarios
from tests.simulation.world.world import EPOCH


def parts(scenario: str, size: int) -> float:
    return first_difference(scenarios()[scenario], size, lambda *run: recorded(runner.reference(*run)))


def begun(plan: Plan, until: float) -> list[str]:
    """What happened in a plan before that second."""
    played = recorded(play(plan))
    return [step.digest for step in (*played.changes, *played.writes) if step.at < until]


@pytest.mark.parametrize(
    ("scenario", "like", "fault"),
    [
        ("cancelled", "happy", "crash-after=9"),
        ("suspended", "cancelled", "refuse=7/500"),
        ("preempted", "happy", "edit-pod=15/0"),
        ("gives-up", "member-fails", "hold=26/8"),
        ("node-lost-for-ever", "node-lost", "refuse=9/409"),
        ("never-arrives-restarts", "never-arrives-alerts", "late=10/20"),
    ],
)
def test_a_fault_before_the_first_difference_makes_the_same_run_in_both(scenario: str, like: str, fault: str) -> None:
    plan, other = (parse(f"{name}:n=4:{fault}") for name in (scenario, like))
    until = parts(scenario, 4)
    same = begun(plan, until)
    assert same == begun(other, until)
    assert same != begun(parse(f"{scenario}:n=4"), until), "the fault was injected"


def test_a_scenario_that_begins_like_no_other_differs_at_once() -> None:
    assert parts("side-by-side", 4) == EPOCH + 1.0


def test_core_scenarios_are_played_completely() -> None:
    assert [parts(name, 4) for name, scenario in scenarios().items() if scenario.core] == [0.0, 0.0]


def test_faults_with_a_lasting_effect_never_end() -> None:
    assert effect_seconds(Fault("delete-pod", 12, "0")) == effect_seconds(Fault("edit-spec", 12)) == float("inf")
    assert effect_seconds(Fault("hold", 12, "8")) == 8.0


def test_plans_before_the_first_difference_are_left_to_the_other_scenario() -> None:
    lines = {line for _, line in runner.exhaustive(["drop"], [4], ["cancelled"])}
    every = {line for _, line in runner.exhaustive(["drop"], [4], ["cancelled"], full=True)}
    assert lines < every
    changes = recorded(runner.reference("cancelled", 4)).changes
    for line in every - lines:
        (fault,) = parse(line).faults
        change = changes[fault.at - 1]
        assert change.at + fault.seconds < parts("cancelled", 4) or change.rank == 2
