"""Phases follow one another as the table says, and the diagram of phases is made from it."""

import pytest
from msgspec.structs import replace

from muster.state.decide.machine import decide
from muster.state.view.engine_facts import LiveRead
from muster.state.vocabulary.record import FINISHED, Phase, StoryLine
from muster.state.vocabulary.transitions import LAST_LINES, TRANSITIONS, IllegalTransition, enter
from tests.builders import NOW, plan, record
from tests.state.story import Story


def test_only_the_changes_of_phase_in_the_table_are_made() -> None:
    entered = enter(record(phase=Phase.RUNNING), Phase.RESTARTING, NOW + 5, message="because")
    assert (entered.phase, entered.phase_at, entered.message) == (Phase.RESTARTING, NOW + 5, "because")
    with pytest.raises(IllegalTransition, match="phase Running cannot follow phase Failed"):
        enter(record(phase=Phase.FAILED), Phase.RUNNING, NOW + 5)


def test_an_illegal_change_carries_the_experiment_and_the_end_of_its_story(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(plan()).assemble()
    lines = tuple(StoryLine(NOW, 0, f"Line{number}", "") for number in range(LAST_LINES + 2))
    here = replace(story.kept, story=lines)
    story.end(1, 1)
    story.view.engine.live_read = LiveRead(story.now, story.version)
    monkeypatch.setitem(TRANSITIONS, Phase.RUNNING, {})
    with pytest.raises(IllegalTransition) as caught:
        decide(story.plan, here, story.view, story.now)
    found = caught.value
    assert (found.uid, found.record.epoch) == ("uid-1", 0)
    assert (found.record.phase, found.phase) == (Phase.RUNNING, Phase.RESTARTING)
    assert found.story == lines[2:]
    assert str(found).startswith("phase Restarting cannot follow phase Running (experiment uid-1, epoch 0)")


def test_every_phase_can_be_reached_and_only_finished_ones_are_final() -> None:
    reached = {after for nexts in TRANSITIONS.values() for after in nexts}
    assert reached == set(Phase)
    assert {phase for phase, nexts in TRANSITIONS.items() if not nexts} == FINISHED
