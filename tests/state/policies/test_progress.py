"""The clocks over an assembled gang: ``run`` from its assembly, ``progress`` from the last sign of progress."""

import pytest

from muster.state.facts.context import Context
from muster.state.policies import completion, deadline
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import PodPhase
from muster.state.vocabulary.record import Phase
from muster.state.vocabulary.rules import ClockAction, ClockName
from tests.builders import NOW, Clock, plan, pod, record, view, view_of
from tests.state.story import Story

AFTER = 100.0


def clocked(name: ClockName, action: ClockAction = ClockAction.FAIL) -> Plan:
    return plan(clocks={name: Clock(AFTER, action)})


@pytest.mark.parametrize("name", [ClockName.RUN, ClockName.PROGRESS])
def test_it_runs_from_the_assembly_of_the_gang(name: ClockName) -> None:
    story = Story(clocked(name))
    story.launch()
    story.look(1000)
    assert deadline.ends(story.plan, story.kept) == {}
    story.assemble()
    assert deadline.ends(story.plan, story.kept) == {name: (story.kept.assembled_at or 0.0) + AFTER}


def test_the_run_clock_ends_an_epoch_that_is_too_long() -> None:
    story = Story(clocked(ClockName.RUN))
    story.assemble()
    story.look(AFTER - 0.1)
    assert story.kept.phase is Phase.RUNNING
    story.look(0.1)
    assert (story.kept.phase, story.kept.reason) == (Phase.FAILED, "RunDeadlineExceeded")
    assert story.kept.message.startswith("only 0 of 4 members ended within 100 s")


def test_a_member_that_ends_is_progress() -> None:
    story = Story(clocked(ClockName.PROGRESS))
    story.assemble()
    writes = story.writes
    story.now += 60
    story.end(1)
    story.look()
    story.look(AFTER - 1)
    assert story.kept.phase is Phase.RUNNING
    assert story.writes <= writes + 1, "an end is no fact that must be written at once"
    story.look(1)
    assert (story.kept.phase, story.kept.reason) == (Phase.FAILED, "ProgressDeadlineExceeded")
    assert story.kept.message.startswith("1 of 4 members have ended; no sign of progress within 100 s")


def test_a_restart_that_it_asks_for_costs_one_of_the_budget() -> None:
    story = Story(clocked(ClockName.PROGRESS, ClockAction.RESTART))
    story.assemble()
    story.look(AFTER)
    assert (story.kept.phase, story.kept.restarts, story.kept.progressed_at) == (Phase.RESTARTING, 1, None)


def context(run: Plan, ended: bool, *, completed: str = "", **facts: object) -> Context:
    """A gang that was assembled 50 s ago; with ``ended`` its rank 0 is seen to have ended now."""
    seen = view(pod(0, phase=PodPhase.SUCCEEDED) if ended else pod(0))
    kept = record(phase=Phase.RUNNING, assembled_at=NOW - 50, completed=completed, **facts)
    seen.remember(run, kept, NOW)
    return Context.at(run, kept, seen, NOW)


@pytest.mark.parametrize(
    ("ended", "kept", "last"),
    [(True, None, NOW), (False, None, NOW - 50), (False, NOW - 5, NOW - 5), (True, NOW - 5, NOW)],
)
def test_the_last_sign_counts(ended: bool, kept: float | None, last: float) -> None:
    found = completion.note(context(clocked(ClockName.PROGRESS), ended, progressed_at=kept))
    assert found.progressed_at == last


def test_an_end_that_the_record_has_is_no_news_to_a_daemon_that_takes_over() -> None:
    here = context(clocked(ClockName.PROGRESS), True, completed="0", progressed_at=NOW - 30)
    assert completion.note(here) is here.record


def test_a_step_of_the_wall_clock_moves_what_was_seen() -> None:
    here = context(clocked(ClockName.PROGRESS), True)
    view_of(here).clock_stepped(-3_600)
    assert here.view.done_at == NOW - 3_600


def test_nothing_is_noted_where_nobody_asks() -> None:
    here = context(plan(), True)
    assert completion.note(here) is here.record
