"""Retention: a finished experiment is deleted after its ttl, and not before its end is persisted and its pods ended."""

from typing import Any

import pytest
from msgspec.structs import replace as edit

from muster.state.decide.machine import decide
from muster.state.policies.ending import NOTICE
from muster.state.vocabulary import wall_time
from muster.state.vocabulary.actions import DeleteSubject
from muster.state.vocabulary.record import Phase
from tests.builders import NOW, edited, plan, record, view
from tests.state.story import Story

TTL, HOUR, DAY = 600.0, 3_600.0, 86_400
GRACE, STOP_MARGIN = 30.0, 30.0


def finished(ttl: float | None = TTL, retention: int | None = None) -> Story:
    """A gang whose members have succeeded, with the status that says so persisted."""
    story = Story(plan(size=2, ttl=ttl, retention=retention)).assemble()
    for rank in range(2):
        story.end(rank)
    story.look()
    assert story.kept.phase is Phase.SUCCEEDED
    return story


def ended_at(story: Story) -> float:
    assert story.kept.finished_at is not None
    return story.kept.finished_at


@pytest.mark.parametrize(
    ("ttl", "retention", "after", "by_retention"),
    [(TTL, None, TTL, None), (None, DAY, DAY, DAY), (60.0, DAY, 60, None), (30.0 * DAY, DAY, 30 * DAY, None)],
    ids=["the ttl", "the retention", "a ttl that is shorter than it", "a ttl that is longer"],
)
def test_it_is_deleted_when_its_ttl_or_else_the_retention_of_the_installation_is_over_and_not_a_moment_before(
    ttl: float | None, retention: int | None, after: float, by_retention: int | None
) -> None:
    story = finished(ttl, retention)
    assert (story.kept.delete_at, story.kept.retention) == (ended_at(story) + after, by_retention)
    assert story.wake_at == story.kept.delete_at
    writes = story.writes
    assert story.look(after - 0.001) == ()
    assert story.look(0.001) == (DeleteSubject(),)
    assert story.writes == writes


def test_without_a_ttl_and_a_retention_it_stays() -> None:
    story = finished(None)
    assert (story.kept.delete_at, story.look(1e9)) == (None, ())


@pytest.mark.parametrize(
    ("edits", "after", "by_retention"),
    [
        ({"ttl": 60.0}, 60.0, None),
        ({"ttl": 2 * TTL}, 2 * TTL, None),
        ({"ttl": None}, None, None),
        ({"ttl": None, "retention": DAY}, DAY, DAY),
        ({"ttl": None, "retention": 2 * DAY}, 2 * DAY, 2 * DAY),
    ],
)
@pytest.mark.parametrize(("ttl", "retention"), [(TTL, None), (None, 3 * DAY)])
def test_an_edited_ttl_and_a_changed_setting_count_from_the_end(
    ttl: float | None, retention: int | None, edits: dict[str, Any], after: float | None, by_retention: int | None
) -> None:
    story = finished(ttl, retention)
    story.plan = edited(story.plan, **{"retention": None} | edits, generation=2)
    story.look(10)
    assert story.kept.delete_at == (None if after is None else ended_at(story) + after)
    assert story.kept.retention == by_retention


@pytest.mark.parametrize("by", [{"ttl": TTL}, {"retention": DAY}])
def test_a_time_that_another_clock_has_written_is_at_most_the_ttl_or_the_retention_away(by: dict[str, Any]) -> None:
    after, kept = next(iter(by.values())), by.get("retention")
    ahead = record(phase=Phase.FAILED, finished_at=NOW + HOUR, delete_at=NOW + HOUR + after, retention=kept)
    assert wall_time.not_in_the_future(plan(**by), ahead, NOW) == edit(ahead, delete_at=NOW + after)
    near = edit(ahead, delete_at=NOW + after)
    assert wall_time.not_in_the_future(plan(**by), near, NOW) is near


def test_a_ttl_of_zero_deletes_behind_the_status_that_holds_the_end() -> None:
    story = finished(0.0)
    assert story.last is not None
    assert (story.last.write, story.last.actions) == (True, (DeleteSubject(),))


@pytest.mark.parametrize("phase", [Phase.PENDING, Phase.RUNNING, Phase.RESTARTING, Phase.SUSPENDED])
def test_nothing_but_a_finished_experiment_is_deleted(phase: Phase) -> None:
    stale = record(phase=phase, started_at=NOW, delete_at=NOW - 5)  # such a status was written by somebody else
    decision = decide(plan(ttl=0.0, suspend=phase is Phase.SUSPENDED), stale, view(), NOW)
    assert DeleteSubject() not in decision.actions
    assert decision.record.delete_at is None


def test_pods_that_are_being_stopped_are_waited_for() -> None:
    story = Story(plan(size=2, ttl=0.0)).assemble()
    story.plan = edited(story.plan, cancel=True)
    assert DeleteSubject() not in story.look()
    assert story.kept.phase is Phase.FAILED
    story.end(0, 143)
    assert DeleteSubject() not in story.look(5)
    story.end(1, 143)
    assert story.look(0.1) == (DeleteSubject(),)


def test_pods_that_do_not_end_hold_it_back_no_longer_than_their_grace() -> None:
    story = Story(plan(size=2, ttl=0.0)).assemble()
    story.plan = edited(story.plan, cancel=True)
    story.look()
    assert DeleteSubject() not in story.look(GRACE + STOP_MARGIN - 0.1)
    assert story.wake_at
    assert DeleteSubject() in story.look(0.1)


@pytest.mark.parametrize("step", [2 * HOUR, -2 * HOUR])
def test_a_step_of_the_wall_clock_deletes_nothing_early_or_late(step: float) -> None:
    story = finished()
    story.now += step
    story.view.clock_stepped(step)
    seen = decide(story.plan, story.record, story.view, story.now, step=step)
    assert (seen.write, seen.actions, seen.wake_at) == (True, (), story.now + TTL)
    assert seen.record.finished_at == story.kept.finished_at


def test_what_was_deleted_is_not_deleted_again() -> None:
    story = finished(0.0)
    story.do(DeleteSubject())
    assert story.look(1) == ()


def test_what_had_ended_before_the_setting_is_given_notice() -> None:
    story = finished(None)
    assert (story.look(10.0 * DAY), story.kept.delete_at) == ((), None)
    story.plan = edited(story.plan, retention=DAY)
    assert story.look() == ()
    assert (story.kept.delete_at, story.kept.retention) == (story.now + NOTICE, DAY)
    at = story.kept.delete_at
    assert story.look(NOTICE - 1) == ()
    assert story.kept.delete_at == at, "looking again does not put it off"
    assert story.look(1) == (DeleteSubject(),)


def test_a_shortened_setting_deletes_no_sooner_than_it_says_or_the_notice() -> None:
    for short in (60, 10 * DAY):
        story = finished(None, 20 * DAY)
        story.look(15.0 * DAY)
        story.plan = edited(story.plan, retention=short)
        assert story.look() == ()
        assert story.kept.delete_at == story.now + min(short, NOTICE)
