"""Who stands for whom, where faults are counted out."""

import pytest

from tests.simulation import runner
from tests.simulation.histories import NOBODY
from tests.simulation.places import SEEN, Places, recorded
from tests.simulation.scenario import scenarios


@pytest.mark.parametrize(
    ("scenario", "size", "struck"),
    [
        ("happy", 4, {0, 1, 3}),
        ("member-fails", 16, {0, 1, 15}),
        ("two-fail", 16, {0, 1, 2, 15}),
        ("cancelled", 16, {0, 15}),
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
