"""A restart that people ask for happens once, at once, and costs nothing."""

from muster.state.vocabulary.record import Phase
from tests.builders import edited, plan
from tests.state.story import Story

ASKED = "root@host at 2026-11-23T04:17:05Z"


def asked(story: Story, request: str = ASKED) -> None:
    story.plan = edited(story.plan, restart_request=request)
    story.look()


def test_the_gang_is_restarted_once_and_charged_to_no_budget() -> None:
    story = Story(plan(limit=0)).assemble()
    asked(story)
    kept = story.kept
    assert (kept.phase, kept.epoch, kept.restarts, kept.gang_restarts) == (Phase.RESTARTING, 1, 0, 1)
    assert (kept.disruptions, kept.consecutive_disruptions, kept.resume_at) == (0, 0, story.now)
    assert (story.cause.reason, story.cause.message) == ("Requested", f"restart by {ASKED}")
    assert kept.restart_request == ASKED
    assert [(each.reason, each.count) for each in kept.restart_reasons] == [("Requested", 1)]
    (line,) = [line for line in kept.story if line.reason == "GangRestart"]
    assert line.message == f"epoch 0 ended (not counted): Requested: restart by {ASKED}"
    for rank in range(4):
        story.gone(rank, 0)
    story.look(1)
    story.assemble()
    assert story.kept.epoch == 1
    asked(story, "root@host at 2026-11-23T05:00:00Z")
    assert story.kept.epoch == 2


def test_a_request_that_is_withdrawn_is_followed_once() -> None:
    story = Story(plan()).assemble()
    for request in (ASKED, "", ASKED):
        asked(story, request)
    assert story.kept.epoch == 1


def test_one_that_was_there_when_it_was_created_is_none() -> None:
    story = Story(plan(restart_request=ASKED)).assemble()
    story.look(1)
    assert story.kept.epoch == 0


def test_it_ends_the_back_off_of_a_restart() -> None:
    story = Story(plan(limit=3)).assemble()
    story.end(1, 1)
    story.look()
    assert (story.kept.phase, story.kept.epoch) == (Phase.RESTARTING, 1)
    assert (story.kept.resume_at or 0.0) > story.now
    asked(story)
    assert (story.kept.epoch, story.kept.resume_at) == (1, story.now)
    assert story.kept.restart_request == ASKED


def test_while_it_is_suspended_there_is_nothing_to_restart() -> None:
    story = Story(plan(suspend=True))
    asked(story)
    assert story.kept.phase is Phase.SUSPENDED
    story.plan = edited(story.plan, suspend=False)
    story.assemble()
    assert (story.kept.restart_request, story.kept.epoch) == (ASKED, 0)
