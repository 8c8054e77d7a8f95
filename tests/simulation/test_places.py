"""Who stands for whom, where faults are counted out."""

import pytest

from tests.simulation import runner
from tests.simulation.families import FAMILIES
from tests.simulation.histories import NOBODY
from tests.simulation.places import SEEN, TURNS, Places, recorded
from tests.simulation.scenario import scenarios


@pytest.mark.parametrize(
    ("scenario", "size", "struck"),
    [
        ("happy", 4, {0, 1, 3}),
        ("member-fails", 16, {0, 1, 15}),
        ("two-fail", 4, {0, 1, 2, 3}),
        ("happy", 1, {0}),
    ],
)
def test_of_members_that_are_alike_one_is_struck(scenario: str, size: int, struck: set[int]) -> None:
    clean = runner.reference(scenario, size)
    history = recorded(clean)
    some, every = (Places(scenarios()[scenario], clean, full=full) for full in (False, True))
    assert every.writes == list(range(1, len(history.writes) + 1))
    assert every.versions == [step.version for step in history.changes if step.resource in SEEN]
    assert {history.writes[number - 1].rank for number in every.writes} == {NOBODY, *range(size)}
    assert {history.changes[version - 1].rank for version in every.versions} == {NOBODY, *range(size)}
    wanted = {NOBODY, *struck}
    assert some.writes == [number for number in every.writes if history.writes[number - 1].rank in wanted]
    assert some.versions == [version for version in every.versions if history.changes[version - 1].rank in wanted]


def test_in_large_gangs_families_take_turns_and_leave_no_place_out() -> None:
    scenario, clean = scenarios()["cancelled"], runner.reference("cancelled", 16)
    every = Places(scenario, clean, full=True)
    history = recorded(clean)
    kept = {NOBODY, 0, 15}
    writes = [number for number in every.writes if history.writes[number - 1].rank in kept]
    versions = [version for version in every.versions if history.changes[version - 1].rank in kept]
    turns = [Places(scenario, clean, full=False, turn=turn) for turn in range(2 * TURNS)]
    assert sorted(number for places in turns[:TURNS] for number in places.writes) == writes
    assert sorted(version for places in turns[:TURNS] for version in places.versions) == versions
    assert [places.writes for places in turns[:TURNS]] == [places.writes for places in turns[TURNS:]]


@pytest.mark.parametrize(
    ("families", "each"),
    [(("crash", "error", "late-write"), 1), (("hold", "reorder", "drop", "relist", "stale", "stranger"), 2)],
)
def test_each_write_and_each_event_meets_as_many_families(families: tuple[str, ...], each: int) -> None:
    turns = [list(FAMILIES).index(family) % TURNS for family in families]
    assert [turns.count(turn) for turn in range(TURNS)] == [each] * TURNS
