"""Members that have a node, and no volumes, no network, or an init container that goes on: what counts in time only."""

from muster.state.policies.gathering import blocked, obstacles
from muster.state.vocabulary.record import ConditionType, Phase
from tests.builders import plan
from tests.state.story import Story

STUCK = ConditionType.STUCK


def on_nodes(*ranks: int) -> Story:
    """All members have a node; these have no sandbox, and the others run."""
    story = Story(plan())
    story.launch()
    story.schedule()
    for rank in range(story.plan.size):
        if rank in ranks:
            story.set(rank, sandboxed=False)
    story.look()
    return story


def test_a_volume_that_is_not_mounted_is_named_after_a_minute_and_stuck_after_two_until_the_programs_run() -> None:
    story = on_nodes(0, 1, 2, 3)
    story.look(obstacles.SLOW_AFTER - 1)
    assert story.kept.reason == "Pending"
    assert story.wake_at <= story.now + 1
    story.look(1)
    assert story.kept.reason == "SandboxNotReady"
    assert "0/4 programs have started; ranks 0-3: no volumes or no network yet (first: " in story.kept.message
    assert story.condition(STUCK) == (False, "NotStuck")
    story.look(60)
    assert story.condition(STUCK) == (True, "SandboxNotReady")
    assert "no volumes or no network yet" in story.kept.message
    story.start()
    story.look(1)
    story.look(blocked.LINGER)
    assert story.condition(STUCK)[0] is not True
    assert story.kept.phase is not Phase.PENDING


def test_images_that_take_long_and_a_sandbox_that_comes_within_the_minute_are_no_obstacle() -> None:
    story = on_nodes(2)
    story.look(obstacles.SLOW_AFTER - 1)
    story.set(2, sandboxed=True)
    story.look(1)
    story.look(3600)
    assert story.kept.reason == "Pending"
    assert story.condition(STUCK) == (False, "NotStuck")


def test_an_init_container_that_does_not_end_is_named_after_a_minute_and_is_never_stuck_by_itself() -> None:
    story = on_nodes()
    for rank in (1, 2):
        story.set(rank, waiting_reason="PodInitializing", holder="init container fetch")
    story.look(obstacles.SLOW_AFTER - 1)
    assert story.kept.reason == "Pending"
    assert story.wake_at <= story.now + 1
    story.look(1)
    assert story.kept.reason == "InitContainerRuns"
    assert "0/4 programs have started; ranks 1-2: init container fetch has not ended (first: " in story.kept.message
    story.look(7200)
    assert story.kept.reason == "InitContainerRuns"
    assert story.condition(STUCK) == (False, "NotStuck")
    story.start()
    story.look(1)
    assert story.kept.phase is not Phase.PENDING


def test_a_volume_is_said_before_an_init_container() -> None:
    story = on_nodes(3)
    story.set(1, waiting_reason="PodInitializing", holder="init container fetch")
    story.look(obstacles.SLOW_AFTER)
    assert story.kept.reason == "SandboxNotReady"
    assert "rank 1: init container fetch has not ended" in story.kept.message
    assert "rank 3: no volumes or no network yet" in story.kept.message
