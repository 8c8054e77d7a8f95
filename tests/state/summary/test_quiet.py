"""A hint on a gang that makes no step for longer than usual, as the daemon reads it."""

import pytest

from muster.rollcall.make import summary
from muster.state.facts.context import Context
from muster.state.summary import quiet
from muster.state.vocabulary.record import ConditionType
from tests.state.summary.test_goodput import Timed, working


def hint(story: Timed) -> str:
    return summary(Context.at(story.plan, story.kept, story.view, story.now)).hint


def running(steps: float = 60) -> Timed:
    """A gang that makes a step a second."""
    return working(steps)


def test_steps_that_come_as_usual_are_no_hint() -> None:
    story = running()
    assert hint(story) == ""
    story.stand(quiet.LEAST - 6)
    assert hint(story) == ""


def test_no_step_for_longer_than_usual_is_a_hint_and_no_verdict() -> None:
    story = running()
    story.stand(51)
    assert story.condition(ConditionType.STUCK)[0] is False
    assert hint(story) == "no rank has made a step for 51s (usual: 1 s)"


def test_a_gang_that_is_stuck_has_its_sentence_and_no_hint() -> None:
    story = running()
    story.hang()
    assert hint(story) == ""


@pytest.mark.parametrize("ends", [True, False])
def test_a_pause_that_is_announced_and_a_gang_that_ends_are_not_quiet(ends: bool) -> None:
    story = running()
    if ends:
        story.end(1, 0)
        story.look()
    else:
        story.pausing = 300.0
    story.stand(51)
    assert hint(story) == ""


def test_silence_of_the_coordinator_is_no_silence_of_the_ranks() -> None:
    story = running()
    story.passes(51)
    story.look()
    assert hint(story) == ""
