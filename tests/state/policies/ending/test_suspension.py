"""Suspension and cancellation follow the spec's wish."""

from dataclasses import replace

import pytest

from muster.state.context import Context, Fail, Resume, Suspend
from muster.state.policies.ending import suspension
from muster.state.record import Phase
from muster.state.rules import ClockAction, ClockName
from tests.builders import NOW, Clock, plan, record, view
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
    case = Context(plan(cancel=cancel, suspend=suspend), record(phase=phase), view(), NOW)
    assert suspension.judge(case) == verdict


def test_the_pending_clock_starts_when_the_old_pods_are_gone_after_a_resumption() -> None:
    clocks = {ClockName.PENDING: Clock(20, ClockAction.FAIL)}
    story = Story(plan(clocks=clocks))
    story.assemble()
    story.plan = replace(story.plan, suspend=True, generation=2)
    story.look()
    for rank in range(4):
        story.set(rank, 0, terminating=True)
    story.plan = replace(story.plan, suspend=False, generation=3)
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
