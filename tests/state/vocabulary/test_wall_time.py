"""Persisted times under a wall clock that is set."""

import pytest
from msgspec.structs import replace

from muster.state.decide.machine import decide
from muster.state.vocabulary import wall_time
from muster.state.vocabulary.record import Phase
from muster.state.vocabulary.rules import Backoff, ClockAction, ClockName
from tests.builders import NOW, Clock, clock_ends, edited, plan, record, sure
from tests.state.story import Story

HOUR = 3_600.0
RUN = plan(clocks={ClockName.TOTAL: Clock(4 * HOUR, ClockAction.FAIL)}, backoff=Backoff(initial=5, maximum=300))


def test_without_a_step_the_record_is_the_same_object() -> None:
    kept = record(phase_at=NOW, started_at=NOW - 60)
    assert wall_time.moved(kept, 0.0) is kept
    assert wall_time.not_in_the_future(RUN, kept, NOW) is kept


@pytest.mark.parametrize("step", [2 * HOUR, 5 * HOUR, -HOUR])
def test_a_step_fails_no_healthy_run_and_is_persisted_once(step: float) -> None:
    story = Story(RUN).assemble()
    ends = clock_ends(story.plan, story.kept)[ClockName.TOTAL]
    story.now += step
    story.view.clock_stepped(step)
    seen = decide(story.plan, story.record, story.view, story.now, step=step)
    assert (seen.write, seen.moved, seen.record.phase) == (True, step, Phase.RUNNING)
    assert clock_ends(story.plan, seen.record)[ClockName.TOTAL] == ends + step
    again = decide(story.plan, seen.record, story.view, story.now)
    assert not again.write


@pytest.mark.parametrize("step", [-HOUR, 40.0])
def test_a_step_changes_no_backoff(step: float) -> None:
    story = Story(RUN).assemble()
    story.end(1, 1)
    story.obey()
    assert story.kept.resume_at == story.now + 5
    story.now += step
    story.view.clock_stepped(step)
    seen = decide(story.plan, story.record, story.view, story.now, step=step)
    assert seen.record.resume_at == story.now + 5
    assert seen.wake_at == story.now + 5


@pytest.mark.parametrize("skew", [40.0, HOUR])
def test_times_of_a_leader_whose_clock_was_ahead_are_taken_for_now(skew: float) -> None:
    story = Story(RUN).assemble()
    story.end(1, 1)
    story.obey()
    story.now -= skew
    story.look()
    assert story.kept.resume_at == story.now + 5, "a back-off never lasts longer than its length from now"
    assert clock_ends(story.plan, story.kept)[ClockName.TOTAL] <= story.now + 4 * HOUR
    story.look(5)
    assert story.kept.phase is Phase.PENDING


def test_clocks_of_two_machines_may_differ_by_a_second() -> None:
    story = Story(RUN).assemble()
    writes = story.writes
    story.now -= wall_time.TOLERANCE + 1  # the last time was written a second ago
    story.look(1)
    assert story.writes == writes


def test_a_record_is_corrected_when_the_clock_is_set_back_or_the_spec_changes() -> None:
    kept, timely = record(phase=Phase.RESTARTING, phase_at=NOW, resume_at=NOW + 200), wall_time.not_in_the_future
    assert timely(RUN, kept, NOW) is kept
    assert timely(RUN, kept, NOW - HOUR).phase_at == NOW - HOUR
    assert timely(edited(RUN, backoff=Backoff(initial=5, maximum=60)), kept, NOW + 1).resume_at == NOW + 61
    assert timely(RUN, replace(kept, phase_at=NOW + HOUR), NOW + 1).phase_at == NOW + 1


def test_the_silence_of_a_coordinator_goes_on_over_a_step() -> None:
    story = Story(RUN).assemble()
    story.silence()
    story.look(3)
    story.now += 2 * HOUR
    story.view.clock_stepped(2 * HOUR)
    assert story.now - sure(story.view.probe).since == 3
