"""Scheduling gates: the true sentence, and no clock runs while a gate is on a pod."""

from dataclasses import replace
from typing import Any

from muster.state.policies.gathering import obstacles
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.pod import PodSpec
from muster.state.vocabulary.record import ConditionType, Phase
from muster.state.vocabulary.rules import ClockAction, ClockName
from tests.builders import NOW, Clock, clock_ends, plan, sure
from tests.state.story import Story

STUCK = ConditionType.STUCK
GATED: dict[str, Any] = {"waiting_reason": "SchedulingGated", "waiting_message": "kueue.x-k8s.io/admission"}
CLOCKS = {
    ClockName.TOTAL: Clock(100, ClockAction.FAIL),
    ClockName.PENDING: Clock(10, ClockAction.RESTART),
    ClockName.ASSEMBLY: Clock(20, ClockAction.FAIL),
}


def queued(*ranks: int) -> Story:
    story = Story(plan(clocks=CLOCKS)).launch()
    for rank in ranks or range(4):
        story.set(rank, **GATED)
    story.look()
    return story


def ungate(story: Story, *ranks: int) -> None:
    for rank in ranks or range(4):
        story.set(rank, waiting_reason="", waiting_message="")


def test_a_queued_gang_is_reported_to_be_queued_and_by_which_gate() -> None:
    story = queued()
    assert (story.kept.phase, story.kept.reason) == (Phase.PENDING, "Queued")
    assert story.kept.message.startswith("queued: 4/4 pods are gated by kueue.x-k8s.io/admission (SchedulingGated)")
    assert "list Experiment.v1alpha1.muster.dev in integrations.externalFrameworks" in story.kept.message
    assert (clock_ends(story.plan, story.kept), story.kept.deadline) == ({}, None), "no clock runs"
    story.look(100_000)
    assert story.condition(STUCK) == (False, "NotStuck")
    assert (story.kept.phase, story.kept.epoch, story.kept.restarts) == (Phase.PENDING, 0, 0)


def test_members_of_a_sequential_group_that_have_ended_are_not_half_a_gang() -> None:
    group = Group("worker", 1, 4, PodSpec("example.org/train:1", "run"), 0, parallelism=1)
    story = Story(replace(plan(), operator="jobset", coordinator=None, groups=(group,))).launch()
    story.start(0)
    story.look(1)
    story.end(0)
    story.obey(1)
    story.set(1, **GATED)
    story.look(100_000)
    assert story.condition(STUCK) == (False, "NotStuck")
    assert sure(story.kept.blocked).reason == "Queued"


def test_the_time_in_the_queue_is_charged_to_no_clock() -> None:
    story = queued()
    story.now += 5_000
    ungate(story)
    story.look()
    assert story.kept.blocked is None
    assert clock_ends(story.plan, story.kept) == {ClockName.TOTAL: NOW + 5_100, ClockName.PENDING: NOW + 5_010}
    assert story.kept.deadline == NOW + 5_100


def test_only_the_time_in_the_queue_is_taken_off_the_total_clock() -> None:
    story = Story(plan(clocks=CLOCKS)).launch()
    story.look(9)
    for rank in range(4):
        story.set(rank, waiting_reason="SchedulingGated")
    story.look()
    story.now += 50
    ungate(story)
    story.look()
    assert clock_ends(story.plan, story.kept)[ClockName.TOTAL] == NOW + 150


def test_a_gang_that_is_let_out_pod_by_pod_is_not_stuck() -> None:
    story = queued()
    story.look(10_000)
    ungate(story, 0)
    story.start(0)
    story.look(0.1)
    assert (story.kept.phase, story.kept.reason) == (Phase.ASSEMBLING, "PartlyQueued")
    assert story.condition(STUCK) == (False, "NotStuck")
    ungate(story, 1, 2, 3)
    story.start(1, 2, 3)
    story.look(0.1)
    assert story.kept.blocked is None
    assert (story.told.count("Stuck"), story.told.count("NotStuck")) == (0, 0)
    assert clock_ends(story.plan, story.kept)[ClockName.ASSEMBLY] == story.now + 20


def test_a_half_running_gang_beside_gated_pods_is_stuck_after_60_s() -> None:
    story = queued(2)
    story.start(0, 1, 3)
    story.look(1)
    story.look(obstacles.QUEUE_PATIENCE - 0.1)
    assert story.condition(STUCK) == (False, "NotStuck")
    story.look(0.1)
    assert story.condition(STUCK) == (True, "PartlyQueued")
    assert "queued: 1/4 pods are gated by kueue.x-k8s.io/admission" in story.kept.message
    assert "while 3 run; first: rank 2 (" in story.kept.message
    story.look(10_000)
    assert story.kept.phase is Phase.ASSEMBLING


def test_an_experiment_that_ends_in_the_queue_keeps_its_start() -> None:
    story = queued()
    story.plan = plan(clocks=CLOCKS, cancel=True, generation=2)
    story.look(50)
    assert (story.kept.phase, story.kept.started_at, story.kept.blocked) == (Phase.FAILED, NOW, None)
