"""Disruptions in a row: they wait longer each time, are called stuck, and end the experiment where the spec says so."""

import pytest

from muster.state.policies.failures import recurrence
from muster.state.vocabulary.record import ConditionType, Phase
from muster.state.vocabulary.rules import Backoff
from tests.builders import edited, plan
from tests.state.story import Story

RUN = plan(limit=0, backoff=Backoff(initial=5, maximum=300))


def disrupt(story: Story) -> float:
    """Preempt a member of the present epoch; the seconds until the next epoch may start."""
    story.launch()
    story.set(1, disruption="PreemptionByScheduler", terminating=True)
    story.obey()
    story.gone(1, story.kept.epoch - 1)
    assert story.kept.phase is Phase.RESTARTING
    assert story.kept.resume_at is not None
    wait = story.kept.resume_at - story.now
    story.look(wait)
    return wait


def work(story: Story, seconds: float) -> None:
    """Assemble the gang and let it run."""
    story.assemble()
    story.look(seconds)


def test_disruptions_in_a_row_wait_longer_each_time_and_the_first_one_not_at_all() -> None:
    story = Story(RUN)
    assert [disrupt(story) for _ in range(9)] == [0, 5, 10, 20, 40, 80, 160, 300, 300]
    assert (story.kept.restarts, story.kept.disruptions, story.kept.consecutive_disruptions) == (0, 9, 9)


def test_progress_ends_the_row_and_the_next_disruption_waits_for_nothing() -> None:
    story = Story(RUN)
    disrupt(story)
    disrupt(story)
    work(story, recurrence.PROGRESS - 1)
    assert story.kept.consecutive_disruptions == 2
    assert story.wake_at == story.now + 1
    story.look(1)
    assert story.kept.consecutive_disruptions == 0
    assert disrupt(story) == 0


def test_a_gang_whose_roll_cannot_be_seen_makes_progress_when_its_programs_go_on_running() -> None:
    story = Story(RUN)
    disrupt(story)
    disrupt(story)
    story.launch()
    story.start()
    story.look()
    assert story.kept.phase is Phase.ASSEMBLING
    story.look(recurrence.UNSEEN_PROGRESS - 1)
    assert story.kept.consecutive_disruptions == 2
    assert story.wake_at == story.now + 1
    story.look(1)
    assert story.kept.consecutive_disruptions == 0


def test_a_gang_that_waits_for_a_rank_makes_no_progress() -> None:
    for arrived in (True, False):
        story = Story(RUN)
        disrupt(story)
        disrupt(story)
        story.launch()
        story.start(*(range(4) if arrived else range(3)))
        if arrived:
            story.observe_probe(0, 1, 2)
        story.look()
        story.look(2 * recurrence.UNSEEN_PROGRESS)
        assert story.kept.consecutive_disruptions == 2


def test_progress_that_no_daemon_saw_counts() -> None:
    story = Story(RUN)
    disrupt(story)
    disrupt(story)
    work(story, 0)
    story.now += recurrence.PROGRESS
    assert disrupt(story) == 0


def test_three_disruptions_in_a_row_are_stuck_until_the_gang_has_made_progress() -> None:
    story = Story(RUN)
    disrupt(story)
    disrupt(story)
    assert story.condition(ConditionType.STUCK) == (False, "NotStuck")
    disrupt(story)
    assert story.condition(ConditionType.STUCK) == (True, "DisruptionLoop")
    assert story.kept.reason == "DisruptionLoop"
    assert "3 disruptions in a row without 300 s of work between them" in story.kept.message
    assert "PreemptionByScheduler" in story.kept.message
    work(story, recurrence.PROGRESS - 1)
    assert story.condition(ConditionType.STUCK) == (True, "DisruptionLoop")
    story.look(1)
    assert story.condition(ConditionType.STUCK) == (False, "NotStuck")
    assert (story.told.count("Stuck"), story.told.count("NotStuck")) == (1, 1)


@pytest.mark.parametrize("allowed", [0, 2])
def test_one_disruption_more_than_the_spec_allows_fails_the_experiment(allowed: int) -> None:
    story = Story(edited(RUN, max_disruptions=allowed))
    for _ in range(allowed):
        disrupt(story)
    story.launch()
    story.set(1, disruption="PreemptionByScheduler", terminating=True)
    story.look()
    assert (story.kept.phase, story.kept.reason) == (Phase.FAILED, "MaxDisruptionsExceeded")
    assert story.kept.message.endswith(f"; limit of disruptions in a row reached ({allowed} of {allowed})")
    assert story.condition(ConditionType.STUCK) == (False, "NotStuck")


def test_disruptions_with_progress_between_them_never_end_the_experiment() -> None:
    story = Story(edited(RUN, max_disruptions=1))
    for _ in range(20):
        disrupt(story)
        work(story, recurrence.PROGRESS)
    assert (story.kept.phase, story.kept.disruptions) == (Phase.RUNNING, 20)


def test_suspension_ends_the_row() -> None:
    story = Story(RUN)
    for _ in range(4):
        disrupt(story)
    story.plan = edited(story.plan, suspend=True, generation=2)
    story.look()
    assert story.kept.consecutive_disruptions == 0
    assert story.condition(ConditionType.STUCK) == (False, "NotStuck")
