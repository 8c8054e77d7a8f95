"""What the record says stays until evidence says otherwise: a daemon that takes over flaps nothing."""

from collections.abc import Callable

import pytest

from muster.state.view.engine_facts import Refusal
from muster.state.view.roll import CoordinatorState, RankError
from muster.state.vocabulary.record import ConditionType, Phase
from tests.builders import plan
from tests.state.story import Story

STUCK, READY = ConditionType.STUCK, ConditionType.COORDINATOR_READY
QUOTA = Refusal("QuotaExceeded", "exceeded quota: small", final=False)


def refused() -> Story:
    story = Story(plan())
    story.view.engine.refusal = QUOTA
    story.look()
    return story


def ranks_missing() -> Story:
    story = Story(plan()).bring_up()
    story.observe_probe(0, 1, 3)
    story.look()
    story.look(10)
    return story


def unreachable() -> Story:
    story = Story(plan()).assemble()
    story.silence()
    story.look(1)
    story.look(30)
    return story


def not_serving() -> Story:
    story = Story(plan()).bring_up()
    story.silence()
    story.look(300)
    return story


def rank_failed() -> Story:
    story = Story(plan()).assemble()
    story.observe_probe(0, 1, 2, 3, passed=True, errors=(RankError(3, 14, "heartbeat timeout"),))
    story.look()
    return story


STORIES: dict[str, Callable[[], Story]] = {
    "QuotaExceeded": refused,
    "RanksMissing": ranks_missing,
    "CoordinatorUnreachable": unreachable,
    "CoordinatorNotServing": not_serving,
    "RankFailed": rank_failed,
}


def taken_over(story: Story) -> Story:
    """A daemon that has just begun to lead: it knows the pods and the record."""
    story.view.engine.reset()
    story.view.probe = None
    story.answered = story.kept.reason != QUOTA.reason  # what was refused is asked for again later
    story.told.clear()
    return story


@pytest.mark.parametrize("reason", STORIES)
def test_a_leader_change_leaves_stuck_as_it_is(reason: str) -> None:
    story = STORIES[reason]()
    before = story.condition(STUCK)
    assert before == (True, reason)
    taken_over(story).look()
    story.look(0.5)
    assert story.condition(STUCK) == before
    assert not {"Stuck", "NotStuck"} & set(story.told)


def test_a_refusal_is_over_only_when_the_request_was_accepted() -> None:
    story = taken_over(refused())
    story.look()
    story.look(60)  # so far it has only read: nothing was created
    assert story.condition(STUCK) == (True, "QuotaExceeded")
    story.view.engine.answered = True
    story.look()
    assert story.condition(STUCK) == (False, "NotStuck")


def test_the_first_answer_with_the_same_roll_leaves_stuck_as_it_is_and_a_rank_that_has_arrived_is_evidence() -> None:
    story = taken_over(ranks_missing())
    story.observe_probe(0, 1, 3)
    story.look()
    story.look(1)
    assert story.condition(STUCK) == (True, "RanksMissing")
    assert "NotStuck" not in story.told
    story.observe_probe(0, 1, 2, 3, passed=True)
    story.look()
    story.look()
    assert story.condition(STUCK) == (False, "NotStuck")
    assert story.kept.phase is Phase.RUNNING


@pytest.mark.parametrize("state", [CoordinatorState.REFUSED, CoordinatorState.TIMEOUT])
def test_a_coordinator_that_is_still_silent_stays_unreachable(state: CoordinatorState) -> None:
    story = taken_over(unreachable())
    story.silence(state)
    for _ in range(20):
        story.look(1)
        assert story.condition(STUCK) == (True, "CoordinatorUnreachable")
    assert not {"Stuck", "NotStuck", "CoordinatorReady"} & set(story.told)
    story.observe_probe(0, 1, 2, 3, passed=True)
    story.look()
    assert story.condition(STUCK) == (False, "NotStuck")


def test_a_coordinator_that_falls_silent_at_the_change_is_unreachable_and_not_new() -> None:
    story = Story(plan()).assemble()
    taken_over(story).silence()
    story.look()
    assert story.condition(READY) == (True, "Serving")
    story.look(5)
    assert story.condition(READY) == (False, "NotServing")
    story.look(2)
    assert story.condition(STUCK) == (True, "CoordinatorUnreachable")
    assert (story.kept.phase, story.kept.ready) == (Phase.RUNNING, 4)


def test_an_experiment_that_ends_is_not_stuck_whatever_the_record_says() -> None:
    story = taken_over(ranks_missing())
    story.plan = plan(cancel=True, generation=2)
    story.look()
    assert story.condition(STUCK) == (False, "NotStuck")
