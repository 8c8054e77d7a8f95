"""Suspension and cancellation follow the spec's wish."""

import pytest

from muster.state.facts.context import Context
from muster.state.policies import ending
from muster.state.policies.verdicts import Fail, Resume, Suspend
from muster.state.vocabulary.record import Phase
from muster.state.vocabulary.rules import ClockAction, ClockName
from tests.builders import NOW, Clock, edited, plan, record, view
from tests.state.story import Story

CANCELLED = Fail("Cancelled", "cancelled by spec.cancel")


@pytest.mark.parametrize(
    ("cancel", "suspend", "phase", "verdict"),
    [
        (False, False, Phase.RUNNING, None),
        (False, True, Phase.RUNNING, Suspend()),
        (False, True, Phase.SUSPENDED, None),
        (False, False, Phase.SUSPENDED, Resume()),
        (True, False, Phase.RUNNING, CANCELLED),
        (True, True, Phase.RUNNING, CANCELLED),
        (True, True, Phase.SUSPENDED, CANCELLED),
    ],
)
def test_the_wish_is_followed(cancel: bool, suspend: bool, phase: Phase, verdict: object) -> None:
    case = Context.at(plan(cancel=cancel, suspend=suspend), record(phase=phase), view(), NOW)
    assert ending.judge_suspension(case) == verdict


def test_the_pending_clock_starts_when_the_old_pods_are_gone_after_a_resumption() -> None:
    clocks = {ClockName.PENDING: Clock(20, ClockAction.FAIL)}
    story = Story(plan(clocks=clocks))
    story.assemble()
    story.plan = edited(story.plan, suspend=True, generation=2)
    story.look()
    for rank in range(4):
        story.set(rank, 0, terminating=True)
    story.plan = edited(story.plan, suspend=False, generation=3)
    story.look(1)
    assert (story.kept.phase, story.kept.epoch_at, story.kept.started_at) == (Phase.PENDING, None, story.now)
    story.look(60)
    assert (story.kept.phase, story.kept.reason) == (Phase.PENDING, "AwaitingOldPods")
    for rank in range(4):
        story.gone(rank, 0)
    story.look()
    assert story.kept.epoch_at == story.now
    story.look(19)
    assert story.kept.phase is Phase.PENDING
    story.look(1)
    assert (story.kept.phase, story.kept.reason) == (Phase.FAILED, "PendingDeadlineExceeded")


def test_a_run_that_is_cancelled_before_its_restart_began_says_so_and_counts_none() -> None:
    story = Story(plan())
    story.assemble()
    story.end(1, 1)
    story.look()
    assert (story.kept.phase, story.kept.restarts, story.kept.restarts_begun) == (Phase.RESTARTING, 1, 1)
    story.plan = edited(story.plan, cancel=True)
    story.look()
    assert (story.kept.phase, story.kept.restarts_begun, story.kept.epoch_begun) == (Phase.FAILED, 0, 0)
    assert story.kept.message.startswith("cancelled by spec.cancel before epoch 1 began; rank 1 (")


def test_the_message_of_a_cancelled_run_names_who_asked() -> None:
    cancelled = plan(cancel=True, cancelled_by="anna@desk at 2027-01-15T08:00:00Z")
    verdict = ending.judge_suspension(Context.at(cancelled, record(phase=Phase.RUNNING), view(), NOW))
    assert verdict == Fail("Cancelled", "cancelled by anna@desk at 2027-01-15T08:00:00Z")


def test_a_restart_that_has_begun_is_counted_after_a_cancellation() -> None:
    story = Story(plan())
    story.assemble()
    story.end(1, 1)
    story.obey()
    story.look(10)
    assert story.kept.phase is Phase.PENDING
    story.plan = edited(story.plan, cancel=True)
    story.look()
    assert (story.kept.message, story.kept.restarts_begun) == ("cancelled by spec.cancel", 1)
    assert story.kept.epoch_begun == 1
