"""A gang that ends well before its coordinator was asked: nothing says that a rank was missing."""

import pytest

from muster.api.gang import RollCall
from muster.state.view.view import View
from muster.state.vocabulary.record import Condition, ConditionType, Phase
from tests.builders import plan, sure
from tests.state.story import Story


def assembled(story: Story) -> Condition:
    return sure(story.kept.condition(ConditionType.ASSEMBLED))


@pytest.fixture
def story() -> Story:
    return Story(plan(size=2)).bring_up()


def test_a_run_that_ends_before_its_coordinator_is_asked_has_no_roll_instead_of_an_empty_one(story: Story) -> None:
    assert story.kept.roll == RollCall(2, 0, ())
    story.end(0)
    story.end(1)
    story.look(1)
    assert (story.kept.phase, story.kept.ready, story.kept.roll) == (Phase.SUCCEEDED, 2, None)
    assert (assembled(story).status, assembled(story).reason) == (False, "RollNotSeen")
    assert story.kept.assembled_at is None  # nor is a time to assembled counted, which nobody has measured


def test_that_stays_when_the_pods_are_gone_and_another_daemon_reads_the_status(story: Story) -> None:
    story.end(0)
    story.end(1)
    story.look(1)
    before = story.kept
    story.gone(0)
    story.gone(1)
    story.view = View()
    story.look(1)
    assert story.kept == before


def test_a_run_whose_roll_was_complete_keeps_it() -> None:
    story = Story(plan(size=2)).assemble()
    story.end(0)
    story.end(1)
    story.look(1)
    assert (story.kept.phase, story.kept.roll) == (Phase.SUCCEEDED, RollCall(2, 2, ()))
    assert (assembled(story).status, assembled(story).reason) == (True, "RollComplete")


def test_a_run_that_fails_before_all_ranks_arrived_keeps_what_was_missing(story: Story) -> None:
    story.observe_probe(0)
    story.look(1)
    story.end(1, 1)
    story.look(1)
    assert assembled(story).reason == "RollIncomplete"
