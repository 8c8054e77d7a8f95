"""Which places stand for others, when faults are placed."""

import pytest

from tests.simulation import runner
from tests.simulation.oracles.final import play
from tests.simulation.oracles.histories import NO_RANK
from tests.simulation.plans.fault_points import SEEN, FaultPoints, recorded
from tests.simulation.plans.plan import Fault, Plan
from tests.simulation.scenarios.catalogue import scenarios


@pytest.mark.parametrize(
    ("scenario", "size", "injected"),
    [
        ("happy", 4, {0, 1, 3}),
        ("member-fails", 16, {0, 15}),
        ("two-fail", 4, {0, 1, 2, 3}),
        ("happy", 1, {0}),
    ],
)
def test_one_of_several_equal_members_stands_for_them(scenario: str, size: int, injected: set[int]) -> None:
    clean = runner.reference(scenario, size)
    history = recorded(clean)
    some, every = (FaultPoints(scenarios()[scenario], clean, full=full) for full in (False, True))
    assert every.writes == list(range(1, len(history.writes) + 1))
    assert every.versions == [step.version for step in history.changes if step.resource in SEEN]
    assert {history.writes[number - 1].rank for number in every.writes} == {NO_RANK, *range(size)}
    assert {history.changes[version - 1].rank for version in every.versions} == {NO_RANK, *range(size)}
    wanted = {NO_RANK, *injected}
    assert some.writes == [number for number in every.writes if history.writes[number - 1].rank in wanted]
    assert some.versions == [version for version in every.versions if history.changes[version - 1].rank in wanted]


@pytest.mark.parametrize(
    ("kind", "how"), [("crash-after", ""), ("delete-pod", "0"), ("edit-pod", "0"), ("edit-spec", "")]
)
def test_a_fault_after_any_step_of_one_iteration_makes_the_same_run(kind: str, how: str) -> None:
    clean = runner.reference("member-fails", 4)
    history = recorded(clean)
    some, every = (FaultPoints(scenarios()["member-fails"], clean, full=full) for full in (False, True))
    if kind == "crash-after":
        steps, numbers, last = history.writes, every.writes, some.turns_of_writes
    else:
        steps, numbers, last = history.changes, every.versions, some.turns_of_changes
    turns = [[each for each in numbers if steps[each - 1].moment == steps[one - 1].moment] for one in last]
    crowded = [turn for turn in turns if len(turn) > 2]
    assert crowded
    for turn in crowded:
        assert len({run(Fault(kind, number, how)) for number in turn}) == 1


def test_every_iteration_has_exactly_one_place() -> None:
    clean = runner.reference("member-fails", 4)
    history = recorded(clean)
    some, every = (FaultPoints(scenarios()["member-fails"], clean, full=full) for full in (False, True))
    assert every.turns_of_writes == every.writes
    assert every.turns_of_changes == every.versions
    for of_some, of_all, steps in (
        (some.turns_of_writes, some.writes, history.writes),
        (some.turns_of_changes, some.versions, history.changes),
    ):
        moments = [steps[number - 1].moment for number in of_some]
        assert len(moments) == len(set(moments)) < len(of_all)
        assert set(moments) == {steps[number - 1].moment for number in of_all}


def run(fault: Fault) -> str:
    return recorded(play(Plan("member-fails", 4, (fault,)))).digest
