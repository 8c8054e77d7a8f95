"""Phases follow one another as the table says, and the page of phases is made from it."""

from pathlib import Path

import pytest

from muster.state.record import FINISHED, Phase
from muster.state.transitions import TRANSITIONS, IllegalTransition, enter, page
from tests.builders import NOW, record

PAGE = Path(__file__).parents[2] / "docs" / "phases.md"
PAIRS = [(before, after) for before in Phase for after in Phase]


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_only_the_changes_of_phase_in_the_table_are_made(before: Phase, after: Phase) -> None:
    here = record(phase=before)
    if after in TRANSITIONS[before]:
        entered = enter(here, after, NOW + 5, message="because")
        assert (entered.phase, entered.phase_at, entered.message) == (after, NOW + 5, "because")
    else:
        with pytest.raises(IllegalTransition, match=f"phase {after} cannot follow phase {before}"):
            enter(here, after, NOW + 5)


def test_every_phase_can_be_reached_and_only_finished_ones_are_final() -> None:
    reached = {after for nexts in TRANSITIONS.values() for after in nexts}
    assert reached == set(Phase)
    assert {phase for phase, nexts in TRANSITIONS.items() if not nexts} == FINISHED


@pytest.mark.drift
def test_the_page_of_phases_is_made_from_the_table() -> None:
    assert PAGE.read_text() == page(), "run `make docs`"
