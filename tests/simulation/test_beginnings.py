"""Scenarios that begin alike are one run until they part, whatever goes wrong in that part of it."""

import pytest

from tests.simulation import runner
from tests.simulation.oracles.final import play
from tests.simulation.plans.beginnings import lasting, parting
from tests.simulation.plans.places import recorded
from tests.simulation.plans.plan import Fault, Plan, parse
from tests.simulation.scenarios.catalogue import scenarios
from tests.simulation.world.world import EPOCH


def parts(scenario: str, size: int) -> float:
    return parting(scenarios()[scenario], size, lambda *run: recorded(runner.reference(*run)))


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
def test_until_they_part_a_fault_makes_the_same_of_both(scenario: str, like: str, fault: str) -> None:
    plan, other = (parse(f"{name}:n=4:{fault}") for name in (scenario, like))
    until = parts(scenario, 4)
    same = begun(plan, until)
    assert same == begun(other, until)
    assert same != begun(parse(f"{scenario}:n=4"), until), "the fault has struck"


def test_one_that_begins_like_no_other_parts_at_once() -> None:
    assert parts("side-by-side", 4) == EPOCH + 1.0


def test_core_scenarios_are_struck_everywhere() -> None:
    assert [parts(name, 4) for name, scenario in scenarios().items() if scenario.core] == [0.0, 0.0]


def test_what_changes_the_run_for_good_is_never_over() -> None:
    assert lasting(Fault("delete-pod", 12, "0")) == lasting(Fault("edit-spec", 12)) == float("inf")
    assert lasting(Fault("hold", 12, "8")) == 8.0


def test_plans_before_the_parting_are_left_to_the_other_scenario() -> None:
    lines = {line for _, line in runner.exhaustive(["drop"], [4], ["cancelled"])}
    every = {line for _, line in runner.exhaustive(["drop"], [4], ["cancelled"], full=True)}
    assert lines < every
    changes = recorded(runner.reference("cancelled", 4)).changes
    for line in every - lines:
        (fault,) = parse(line).faults
        change = changes[fault.at - 1]
        assert change.at + fault.seconds < parts("cancelled", 4) or change.rank == 2
