"""What keeps a member from starting is said at once, and called Stuck once it has lasted."""

from typing import Any

import pytest

from muster.state.facts.causes.cannot_start import CONTAINER_PATIENCE, UNSCHEDULABLE_PATIENCE
from muster.state.policies.gathering import blocked, lateness
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.pod import PodSpec
from muster.state.vocabulary.record import ConditionType, Phase
from muster.state.vocabulary.rules import ClockAction, ClockName
from tests.builders import Clock, plan
from tests.state.story import Story

STUCK = ConditionType.STUCK
NOT_FOUND = 'image "example.org/typo:1": not found'
TYPO: dict[str, Any] = {"waiting_reason": "ImagePullBackOff", "waiting_message": NOT_FOUND}
AT_ONCE = 0


def launched(**overrides: Any) -> Story:
    return Story(plan(**overrides)).launch()


def no_node(story: Story, *ranks: int) -> None:
    for rank in ranks:
        story.set(rank, waiting_reason="Unschedulable", waiting_message="0/8 nodes have nvidia.com/gpu")


def test_an_image_that_cannot_be_pulled_is_reported_at_once() -> None:
    story = launched()
    story.start(0, 1, 3)
    story.schedule(2)
    story.set(2, **TYPO)
    story.look(AT_ONCE)
    assert story.kept.reason == "ImagePullBackOff"
    for word in ("3/4 programs have started; rank 2 (", "Pending: ImagePullBackOff", NOT_FOUND):
        assert word in story.kept.message
    assert story.condition(STUCK) == (False, "NotStuck")
    assert story.view.of(0).held
    story.set(2, terminating=True)
    assert story.view.of(0).held == {}, "a pod that is being deleted is no obstacle"


@pytest.mark.parametrize(
    "reason",
    ["ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError", "CreateContainerError", "CrashLoopBackOff"],
)
def test_a_container_that_cannot_be_made_is_stuck_under_its_own_reason_after_15_s(reason: str) -> None:
    story = launched()
    story.schedule()
    story.set(0, waiting_reason=reason)
    story.look(AT_ONCE)
    story.look(CONTAINER_PATIENCE - 0.1)
    assert story.condition(STUCK) == (False, "NotStuck")
    story.look(0.1)
    assert story.condition(STUCK) == (True, reason)
    assert story.told[-1] == "Stuck"
    assert story.kept.epoch == 0


def test_a_member_without_a_node_is_stuck_in_the_schedulers_words_after_60_s() -> None:
    story = launched()
    no_node(story, 2, 3)
    story.look(AT_ONCE)
    assert story.kept.reason == "Unschedulable"
    assert "0/4 members have a node; ranks 2-3: no node fits (first: " in story.kept.message
    assert "Pending: Unschedulable, 0/8 nodes have nvidia.com/gpu)" in story.kept.message
    assert story.wake_at == story.now + UNSCHEDULABLE_PATIENCE == story.now + 60
    story.look(59.9)
    assert story.condition(STUCK) == (False, "NotStuck")
    story.look(0.1)
    assert story.condition(STUCK) == (True, "Unschedulable")


def test_it_is_not_stuck_any_more_as_soon_as_the_obstacle_is_gone() -> None:
    story = launched()
    no_node(story, 3)
    story.look(AT_ONCE)
    story.look(100)
    story.set(3, waiting_reason="", waiting_message="")
    story.schedule()
    story.look(1)
    assert story.condition(STUCK) == (False, "NotStuck")
    assert (story.kept.blocked, story.kept.reason) == (None, "Pending")
    assert (story.told.count("Stuck"), story.told.count("NotStuck")) == (1, 1)


def test_an_init_container_that_is_started_again_and_again_does_not_flap_stuck() -> None:
    story = launched()
    story.schedule()
    for pause in (10, 20, 40, 80, 160, 300, 300):
        story.set(1, waiting_reason="CrashLoopBackOff")
        story.look(AT_ONCE)
        story.look(pause)
        story.set(1, waiting_reason="PodInitializing")  # it runs for three seconds and fails
        story.look(AT_ONCE)
        story.look(3)
    assert (story.told.count("Stuck"), story.told.count("NotStuck")) == (1, 0)


def test_a_container_counts_as_made_10_s_after_the_obstacle_was_seen_last() -> None:
    story = launched()
    story.schedule()
    story.set(1, **TYPO)
    story.look(AT_ONCE)
    story.look(60)
    story.set(1, waiting_reason="ContainerCreating", waiting_message="")
    story.look(AT_ONCE)
    assert story.wake_at == story.now + blocked.LINGER
    story.look(blocked.LINGER - 0.1)
    assert story.condition(STUCK) == (True, "ImagePullBackOff")
    story.look(0.1)
    assert story.condition(STUCK) == (False, "NotStuck")
    assert story.kept.blocked is None


def test_a_rank_that_could_start_at_last_is_not_missing_at_once() -> None:
    story = launched()
    story.start(0, 1, 3)
    story.schedule(2)
    story.set(2, **TYPO)
    for _ in range(30):
        story.observe_probe(0, 1, 3)
        story.look(1)
    assert story.condition(STUCK) == (True, "ImagePullBackOff")
    told = len(story.told)
    story.start(2)
    story.observe_probe(0, 1, 3)
    story.look(0.1)
    assert story.condition(STUCK) == (False, "NotStuck")
    story.observe_probe(0, 1, 3)
    story.look(2)
    story.observe_probe(0, 1, 2, 3)
    story.look(1)
    assert story.told[told:] == ["NotStuck"]
    assert story.kept.blocked is None


def without_a_node_for_rank_2() -> Story:
    """The other ranks have arrived, and the gang is Stuck."""
    story = launched()
    story.start(0, 1, 3)
    no_node(story, 2)
    for _ in range(70):
        story.observe_probe(0, 1, 3)
        story.look(1)
    assert story.condition(STUCK) == (True, "Unschedulable")
    return story


def test_a_rank_that_started_at_last_and_does_not_arrive_is_missing_10_s_later() -> None:
    story = without_a_node_for_rank_2()
    told = len(story.told)
    story.start(2)
    story.look(AT_ONCE)
    assert story.wake_at == story.now + blocked.LINGER
    story.look(blocked.LINGER - 0.1)
    assert story.condition(STUCK) == (False, "NotStuck")
    story.look(0.1)
    assert story.condition(STUCK) == (True, "RanksMissing")
    assert [line for line in story.told[told:] if "Stuck" in line] == ["NotStuck", "Stuck"]


def test_a_node_that_came_is_not_missing_any_more_while_the_image_is_pulled() -> None:
    story = without_a_node_for_rank_2()
    story.schedule(2)
    story.set(2, waiting_reason="ContainerCreating", waiting_message="")
    story.look(AT_ONCE)
    assert story.condition(STUCK) == (False, "NotStuck")
    story.look(blocked.LINGER)
    assert story.condition(STUCK) == (False, "NotStuck"), "an image may take minutes"
    story.look(lateness.STARTING)
    assert story.condition(STUCK) == (True, "RanksMissing")


def test_members_held_by_different_reasons_are_stuck_in_time() -> None:
    story = launched()
    story.schedule()
    for number in range(16):
        story.set(1, waiting_reason="CreateContainerConfigError", resource_version=number)
        story.set(2, **(TYPO if number % 2 else {"waiting_reason": "ContainerCreating"}))
        story.set(1, waiting_reason="ContainerCreating" if number % 2 else "CreateContainerConfigError")
        story.look(1)
    assert story.condition(STUCK)[0]


def test_a_node_that_came_late_does_not_use_up_the_patience_for_the_image() -> None:
    story = launched()
    no_node(story, *range(4))
    story.look(AT_ONCE)
    story.look(59)
    story.schedule()
    for rank in range(4):
        story.set(rank, **TYPO)
    story.look(2)
    assert story.condition(STUCK) == (False, "NotStuck")
    story.look(15)
    assert story.condition(STUCK) == (True, "ImagePullBackOff")


def test_a_normal_start_is_no_obstacle() -> None:
    story = launched()
    story.schedule()
    for rank, reason in enumerate(("ContainerCreating", "PodInitializing", "", "ContainerCreating")):
        story.set(rank, waiting_reason=reason)
    story.look(AT_ONCE)
    assert story.kept.blocked is None
    assert (story.kept.reason, story.kept.message) == ("Pending", "starting 4 members")


@pytest.mark.parametrize(
    ("action", "phase"), [(ClockAction.FAIL, Phase.FAILED), (ClockAction.RESTART, Phase.RESTARTING)]
)
def test_an_obstacle_ends_with_the_epoch_that_a_clock_ends(action: ClockAction, phase: Phase) -> None:
    story = launched(clocks={ClockName.PENDING: Clock(90, action)})
    no_node(story, 0)
    story.look(AT_ONCE)
    story.look(60)
    assert story.condition(STUCK) == (True, "Unschedulable")
    story.look(30)
    assert story.kept.phase is phase
    assert story.condition(STUCK) == (False, "NotStuck")
    assert story.kept.blocked is None


def test_members_that_have_ended_are_counted_among_all_members_of_a_sequential_group() -> None:
    group = Group("worker", 1, 4, PodSpec("example.org/train:1", "run"), 0, parallelism=1)
    story = launched(operator="jobset", coordinator=None, groups=(group,))
    for rank in range(3):
        story.start(rank)
        story.end(rank)
        story.obey(1)
    story.schedule(3)
    story.set(3, **TYPO)
    story.look(AT_ONCE)
    assert story.kept.message.startswith("3/4 programs have started; rank 3 (")
