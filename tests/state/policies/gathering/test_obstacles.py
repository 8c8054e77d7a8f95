"""What keeps a gang from working is named at once, and called Stuck when it lasts."""

from typing import Any

import pytest

from muster.state.facts.causes.cannot_start import NODE_PATIENCE
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.diagnose import diagnose
from muster.state.policies.gathering import blocked, obstacles
from muster.state.vocabulary.group import Group, ProbeKind, Role
from muster.state.vocabulary.pod import PodSpec
from muster.state.vocabulary.record import ConditionType, Phase
from muster.state.vocabulary.rules import Gate, GateCondition
from tests.builders import plan
from tests.state.story import Story

STUCK = ConditionType.STUCK


def running(**overrides: Any) -> Story:
    return Story(plan(**overrides)).assemble()


def unprobed(**overrides: Any) -> Story:
    """A gang that runs, whose coordinator cannot be asked."""
    story = Story(plan(probe=ProbeKind.NONE, **overrides)).bring_up()
    assert story.kept.message == "4/4 members are ready"
    return story


def cut_off(story: Story, *ranks: int, node: str = "b") -> None:
    for rank in ranks:
        story.set(rank, ready=False, cut_off=True, node=node)


def test_a_node_that_is_not_ready_is_named_at_once_and_stuck_after_15_s_and_restarts_nothing() -> None:
    story = running()
    cut_off(story, 2, 3)
    story.look()
    assert (story.kept.phase, story.kept.reason) == (Phase.RUNNING, "NodeNotReady")
    assert story.kept.message.startswith("ranks 2-3: node b is not ready (first: ")
    story.look(NODE_PATIENCE - 0.1)
    assert story.condition(STUCK) == (False, "NotStuck")
    story.look(0.1)
    assert story.condition(STUCK) == (True, "NodeNotReady")
    story.look(1_000)
    assert story.kept.epoch == 0
    for rank in (2, 3):
        story.set(rank, ready=True, cut_off=False)
    story.observe_probe(0, 1, 2, 3, passed=True)
    story.look()
    assert (story.condition(STUCK), story.kept.reason) == ((False, "NotStuck"), "RollComplete")


def test_members_are_grouped_by_their_node() -> None:
    story = running(size=12)
    cut_off(story, 0, 1, node="a")
    cut_off(story, *range(2, 12), node="b")
    story.look()
    assert story.kept.message.startswith(
        f"ranks 0-1: node a is not ready (first: {story.pods[0, 0].name}); "
        f"ranks 2-11: node b is not ready (first: {story.pods[0, 2].name}); "
    )


def test_ranks_that_end_while_others_run_on_are_named_and_stuck_after_5_minutes() -> None:
    story = running()
    story.end(1)
    story.end(3)
    story.look()
    assert story.kept.reason == "RollComplete"
    story.look(obstacles.ENDS_TOGETHER)
    assert story.kept.reason == "RanksEnded"
    story.look(obstacles.ENDED_PATIENCE)
    assert story.condition(STUCK) == (True, "RanksEnded")
    assert "2 members ended with exit code 0 (ranks 1, 3) while 2 run on" in story.kept.message
    assert story.kept.phase is Phase.RUNNING


@pytest.mark.parametrize(
    ("ended", "named"), [((0,), "rank 0, the coordinator"), ((0, 2), "ranks 0, 2, among them the coordinator")]
)
def test_a_coordinator_that_ended_is_called_one(ended: tuple[int, ...], named: str) -> None:
    story = unprobed()
    for rank in ended:
        story.end(rank)
    story.look(obstacles.ENDS_TOGETHER)
    story.look(obstacles.ENDED_PATIENCE)
    assert story.condition(STUCK) == (True, "RanksEnded")
    assert f"({named})" in story.kept.message


def ray_like() -> Story:
    """A head, two workers, and the submitter of their program, whose own controller has not ended it yet."""
    nodes = Group("nodes", 1, 3, PodSpec(), 0)
    submitter = Group("submitter", 1, 1, PodSpec(), 3, role=Role.SUBMITTER)
    return unprobed(groups=(nodes, submitter))


def test_a_submitter_that_has_ended_is_wanted_though_head_and_workers_run_on() -> None:
    story = ray_like()
    story.end(3)
    for _ in range(3):
        story.look(obstacles.ENDED_PATIENCE)
        assert story.condition(STUCK) == (False, "NotStuck")
        assert (story.kept.reason, story.kept.blocked) == ("RollComplete", None)
    assert "while" not in story.kept.message


def test_a_worker_that_has_ended_beside_the_submitter_is_named_alone() -> None:
    story = ray_like()
    story.end(3)
    story.end(1)
    story.look(obstacles.ENDS_TOGETHER)
    story.look(obstacles.ENDED_PATIENCE)
    assert story.condition(STUCK) == (True, "RanksEnded")
    assert story.kept.message == (
        "1 member ended with exit code 0 (rank 1) while 2 run on; 4/4 members are ready, or have ended with exit code 0"
    )
    assert [found.ranks for found in diagnose(Context.at(story.plan, story.kept, story.view, story.now))] == [(1,)]


def initialized(probe: ProbeKind) -> Story:
    """Two nodes that run after two initializers, as in a TrainJob: these have the last ranks."""
    nodes = Group("node", 1, 2, PodSpec(), 0, gates=(Gate(GateCondition.COMPLETE, "data"),))
    story = Story(plan(groups=(nodes, Group("data", 1, 2, PodSpec(), 2, role=Role.INITIALIZER)), probe=probe)).launch()
    story.start(2, 3)
    story.end(2)
    story.end(3)
    story.launch()
    story.start(0, 1)
    story.look(1)
    return story


@pytest.mark.parametrize("probe", [ProbeKind.JAX, ProbeKind.NONE])
def test_initializers_that_have_ended_are_wanted_though_the_nodes_run_on(probe: ProbeKind) -> None:
    story = initialized(probe)
    if probe is ProbeKind.JAX:
        story.observe_probe(0, 1, passed=True, expected=2)
    for _ in range(3):
        story.look(obstacles.ENDED_PATIENCE)
        assert (story.kept.reason, story.condition(STUCK)) == ("RollComplete", (False, "NotStuck"))
    story.end(1)
    story.look(obstacles.ENDS_TOGETHER)
    story.look(obstacles.ENDED_PATIENCE)
    assert story.condition(STUCK) == (True, "RanksEnded")
    assert story.kept.message.startswith("1 member ended with exit code 0 (rank 1) while 1 runs on; ")
    assert [found.ranks for found in diagnose(Context.at(story.plan, story.kept, story.view, story.now))] == [(1,)]


def test_members_that_have_ended_are_not_called_ready() -> None:
    story = unprobed()
    story.end(2)
    story.set(1, ready=False)
    story.look(obstacles.ENDS_TOGETHER)
    assert story.kept.message.startswith("1 member ended with exit code 0 (rank 2) while 3 run on")
    assert "; 3/4 members are ready, or have ended with exit code 0; rank 1 (" in story.kept.message


def test_a_further_end_does_not_clear_stuck() -> None:
    story = running(size=12)
    story.end(1)
    story.look(obstacles.ENDS_TOGETHER)
    story.look(obstacles.ENDED_PATIENCE)
    assert story.condition(STUCK) == (True, "RanksEnded")
    for rank in range(2, 8):
        story.end(rank)
        story.look(60)
        assert story.condition(STUCK) == (True, "RanksEnded")
    assert (story.told.count("Stuck"), story.told.count("NotStuck")) == (1, 0)


def test_ends_one_after_another_put_stuck_off_for_15_minutes_and_not_for_ever() -> None:
    story = running(size=12)
    story.end(0)
    story.look(obstacles.ENDS_TOGETHER)
    began = story.now
    for rank in range(1, 7):
        story.look(obstacles.ENDED_PATIENCE - obstacles.ENDS_TOGETHER - 1)
        assert (story.condition(STUCK)[0]) == (story.now >= began + obstacles.ENDS_FOR + obstacles.ENDED_PATIENCE)
        story.end(rank)
        story.look(obstacles.ENDS_TOGETHER)
    assert story.condition(STUCK) == (True, "RanksEnded")


def test_a_kubelet_whose_clock_is_ahead_does_not_hide_that_ranks_ended() -> None:
    story = running()
    story.end(1, at=story.now + 3_600)
    story.look()
    story.look(obstacles.ENDED_PATIENCE)
    assert story.condition(STUCK) == (True, "RanksEnded")


def test_independent_jobs_may_end_when_they_like() -> None:
    story = unprobed(coordinator=None)
    story.end(1)
    story.look(100_000)
    assert story.condition(STUCK) == (False, "NotStuck")


def on_nodes(*ranks: int) -> Story:
    """All members have a node; these have no sandbox, and the others run."""
    story = Story(plan()).launch()
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


def test_a_volume_is_reported_before_an_init_container() -> None:
    story = on_nodes(3)
    story.set(1, waiting_reason="PodInitializing", holder="init container fetch")
    story.look(obstacles.SLOW_AFTER)
    assert story.kept.reason == "SandboxNotReady"
    assert "rank 1: init container fetch has not ended" in story.kept.message
    assert "rank 3: no volumes or no network yet" in story.kept.message


UNMET = "no Ray node has what a waiting task or actor asks for: GPU 2"


def assembled() -> Story:
    """A gang whose members have all arrived, and whose head has just reported the request."""
    story = Story(plan(probe=ProbeKind.RAY)).assemble()
    hear(story, UNMET)
    return story


def hear(story: Story, unmet: str) -> None:
    """The head's next answer: it has all members."""
    story.observe_probe(*range(story.plan.size), unmet=unmet)


def test_a_request_that_no_ray_node_meets_is_named_at_once_and_stuck_after_a_minute_until_a_node_has_it() -> None:
    story = assembled()
    story.look(1)
    assert UNMET in story.kept.message
    assert story.condition(STUCK)[0] is not True
    story.look(obstacles.UNMET_PATIENCE)
    assert story.condition(STUCK) == (True, "RequestUnmet")
    assert UNMET in story.kept.message
    hear(story, "")
    story.look(1)
    story.look(20)
    assert story.condition(STUCK)[0] is not True
    assert "Ray node" not in story.kept.message


def test_a_head_that_does_not_answer_is_no_evidence_of_it() -> None:
    story = assembled()
    story.silence()
    story.look(obstacles.UNMET_PATIENCE + 1)
    assert story.condition(STUCK) == (True, "CoordinatorUnreachable")


def test_a_question_that_is_not_answered_does_not_begin_the_minute_anew() -> None:
    story = assembled()
    story.look(1)
    for _ in range(3):
        story.look((obstacles.UNMET_PATIENCE - 2) / 3)
        story.silence()
        story.look(1)
        hear(story, UNMET)
    story.look(2)
    assert story.condition(STUCK) == (True, "RequestUnmet")
