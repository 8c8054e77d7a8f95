"""Retention: a finished experiment is deleted after its ttl, and not before its end is persisted and its pods ended."""

import pytest
from msgspec.structs import replace as edit

from muster.state.decide.machine import decide
from muster.state.policies.ending import NOTICE
from muster.state.vocabulary import wall_time
from muster.state.vocabulary.actions import DeleteSubject
from muster.state.vocabulary.record import Phase
from tests.builders import NOW, edited, plan, record, view
from tests.state.story import Story

TTL, HOUR = 600.0, 3_600.0
GRACE, STOP_MARGIN = 30.0, 30.0


def finished(ttl: float | None = TTL, size: int = 2) -> Story:
    """A gang whose members have succeeded, with the status that says so persisted."""
    story = Story(plan(size=size, ttl=ttl))
    story.assemble()
    for rank in range(size):
        story.end(rank)
    story.look()
    assert story.kept.phase is Phase.SUCCEEDED
    return story


def test_the_time_is_persisted_with_the_end() -> None:
    story = finished()
    assert story.kept.delete_at == (story.kept.finished_at or 0.0) + TTL
    assert story.last is not None
    assert story.last.wake_at == story.kept.delete_at


def test_it_is_deleted_when_the_time_is_over_and_not_a_moment_before() -> None:
    story = finished()
    writes = story.writes
    assert story.look(TTL - 0.001) == ()
    assert story.look(0.001) == (DeleteSubject(),)
    assert story.writes == writes


def test_without_a_ttl_it_stays() -> None:
    story = finished(None)
    assert (story.kept.delete_at, story.look(1e9)) == (None, ())


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
    story = Story(plan(size=2, ttl=0.0))
    story.assemble()
    story.plan = edited(story.plan, cancel=True)
    assert DeleteSubject() not in story.look()
    assert story.kept.phase is Phase.FAILED
    story.end(0, 143)
    assert DeleteSubject() not in story.look(5)
    story.end(1, 143)
    assert story.look(0.1) == (DeleteSubject(),)


def test_pods_that_do_not_end_hold_it_back_no_longer_than_their_grace() -> None:
    story = Story(plan(size=2, ttl=0.0))
    story.assemble()
    story.plan = edited(story.plan, cancel=True)
    story.look()
    assert DeleteSubject() not in story.look(GRACE + STOP_MARGIN - 0.1)
    assert story.last is not None
    assert story.last.wake_at is not None
    assert DeleteSubject() in story.look(0.1)


@pytest.mark.parametrize(("ttl", "after"), [(60.0, 60.0), (None, None), (2 * TTL, 2 * TTL)])
def test_an_edited_ttl_counts_from_the_end(ttl: float | None, after: float | None) -> None:
    story = finished()
    end = story.kept.finished_at or 0.0
    story.plan = edited(story.plan, ttl=ttl, generation=2)
    story.look(10)
    assert story.kept.delete_at == (None if after is None else end + after)


@pytest.mark.parametrize("step", [2 * HOUR, -2 * HOUR])
def test_a_step_of_the_wall_clock_deletes_nothing_early_or_late(step: float) -> None:
    story = finished()
    story.now += step
    story.view.clock_stepped(step)
    seen = decide(story.plan, story.record, story.view, story.now, step=step)
    assert (seen.write, seen.actions, seen.wake_at) == (True, (), story.now + TTL)
    assert seen.record.finished_at == story.kept.finished_at


def test_a_time_that_another_clock_has_written_is_at_most_the_ttl_away() -> None:
    ahead = record(phase=Phase.FAILED, finished_at=NOW + HOUR, delete_at=NOW + HOUR + TTL)
    assert wall_time.not_in_the_future(plan(ttl=TTL), ahead, NOW) == edit(ahead, delete_at=NOW + TTL)
    near = edit(ahead, delete_at=NOW + TTL)
    assert wall_time.not_in_the_future(plan(ttl=TTL), near, NOW) is near


def test_what_was_deleted_is_not_deleted_again() -> None:
    story = finished(0.0)
    story.do(DeleteSubject())
    assert story.look(1) == ()


DAY = 86_400


def kept(retention: int | None, ttl: float | None = None) -> Story:
    """A finished gang in an installation with a retention."""
    story = Story(plan(size=1, ttl=ttl, retention=retention))
    story.assemble()
    story.end(0)
    story.look()
    assert story.kept.phase is Phase.SUCCEEDED
    return story


def test_the_retention_of_the_installation_holds_where_the_spec_has_no_ttl_and_the_status_says_so() -> None:
    story = kept(DAY)
    assert (story.kept.delete_at, story.kept.retention) == ((story.kept.finished_at or 0.0) + DAY, DAY)
    writes = story.writes
    assert story.look(DAY - 0.001) == ()
    assert story.look(0.001) == (DeleteSubject(),)
    assert story.writes == writes


def test_a_ttl_of_the_spec_is_stronger_than_the_retention_shorter_or_longer() -> None:
    for ttl in (60.0, 30.0 * DAY):
        story = kept(DAY, ttl)
        assert (story.kept.delete_at, story.kept.retention) == ((story.kept.finished_at or 0.0) + ttl, None)


def test_what_had_ended_before_the_setting_is_given_notice() -> None:
    story = kept(None)
    assert (story.look(10.0 * DAY), story.kept.delete_at) == ((), None)
    story.plan = edited(story.plan, retention=DAY)
    assert story.look() == ()
    assert (story.kept.delete_at, story.kept.retention) == (story.now + NOTICE, DAY)
    at = story.kept.delete_at
    assert story.look(NOTICE - 1) == ()
    assert story.kept.delete_at == at, "looking again does not put it off"
    assert story.look(1) == (DeleteSubject(),)


@pytest.mark.parametrize(
    ("before", "after", "stays"), [(DAY, 2 * DAY, 2 * DAY), (2 * DAY, DAY, DAY), (DAY, None, None)]
)
def test_a_changed_setting_counts_from_the_end(before: int, after: int | None, stays: float | None) -> None:
    story = kept(before)
    end = story.kept.finished_at or 0.0
    story.plan = edited(story.plan, retention=after)
    story.look(10)
    assert (story.kept.delete_at, story.kept.retention) == (None if stays is None else end + stays, after)


def test_a_shortened_setting_deletes_no_sooner_than_it_says_or_the_notice() -> None:
    for short in (60, 10 * DAY):
        story = kept(20 * DAY)
        story.look(15.0 * DAY)
        story.plan = edited(story.plan, retention=short)
        assert story.look() == ()
        assert story.kept.delete_at == story.now + min(short, NOTICE)


def test_an_edit_takes_the_experiment_from_the_setting_and_gives_it_back() -> None:
    story = kept(DAY)
    end = story.kept.finished_at or 0.0
    story.plan = edited(story.plan, ttl=7.0 * DAY, generation=2)
    story.look(10)
    assert (story.kept.delete_at, story.kept.retention) == (end + 7 * DAY, None)
    story.plan = edited(story.plan, ttl=None, generation=3)
    story.look(10)
    assert (story.kept.delete_at, story.kept.retention) == (end + DAY, DAY)


def test_a_time_of_another_clock_is_at_most_the_retention_away() -> None:
    ahead = record(phase=Phase.FAILED, finished_at=NOW + HOUR, delete_at=NOW + HOUR + DAY, retention=DAY)
    assert wall_time.not_in_the_future(plan(retention=DAY), ahead, NOW) == edit(ahead, delete_at=NOW + DAY)
