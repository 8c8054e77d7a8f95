"""Where the time went of a gang whose containers the kubelet restarts in their pods.

Its programs make a step a second. All count their steps from 0 on, and end after a hundred.
"""

from typing import Any

import pytest

from muster.api.goodput import Bucket
from muster.state.view.lead import Spent
from muster.state.vocabulary.pod import Exit
from muster.state.vocabulary.record import ConditionType, from_status, to_status
from tests.state.summary.test_goodput import Timed, at_work, restarted_inside, taken_over

DOWN, STARTUP = 10.0, 20.0
WAYS = Bucket.LOST, Bucket.RECOVERY, Bucket.PROGRAM_STARTUP


def at_step_100() -> Timed:
    """A gang at step 100, whose containers were started before its roll was complete."""
    story = Timed().assemble()
    for rank in range(4):
        story.set(rank, started_at=story.now - 1)
    story.begin(0, startup=8.0)
    story.see()
    story.run(100)
    story.look()
    return story


def end(story: Timed, *ranks: int, **changes: Any) -> None:
    """The containers of these members, else of all, end, and the kubelet starts them again after ``DOWN`` seconds."""
    ranks = ranks or tuple(range(4))
    ends = {
        rank: Exit("main", 1, 0, "Error", "", story.now, started_at=story.pods[0, rank].started_at) for rank in ranks
    }
    for rank in ranks:
        story.set(rank, ready=False, started_at=0.0, waiting_reason="CrashLoopBackOff")
    story.passes(DOWN)
    for rank, ended in ends.items():
        again: dict[str, Any] = {"restarts": story.pods[0, rank].restarts + 1, "last_exit": ended} | changes
        again.setdefault("started_at", story.now)
        story.set(rank, ready=True, waiting_reason="", **again)
    story.look()


def resume(story: Timed, step: int, startup: float = STARTUP) -> None:
    """The programs come to that step, and go on for a minute."""
    story.begin(step, startup)
    story.see()
    story.run(90)
    story.look()
    story.run(3)
    story.look()


def of_sidecar(story: Timed) -> Exit:
    """The end of a container beside the program, which was started with it."""
    return Exit("proxy", 1, 0, "Error", "", story.now, started_at=story.pods[0, 0].started_at)


@pytest.mark.parametrize(
    ("step", "lost", "recovery", "words"),
    [
        (80, 21, 29, "at least 19 steps (21 s) lost, 29 s to recover"),
        (0, 101, 29, "at least 99 steps (101 s) lost, 29 s to recover"),
        (101, 0, 29, ""),
    ],
    ids=["from a checkpoint", "without a checkpoint", "from one after the last step that was read"],
)
def test_a_restart_in_place_is_recovery_and_the_steps_since_the_checkpoint_are_lost(
    step: int, lost: float, recovery: float, words: str
) -> None:
    """The kubelet gives whole seconds, so the containers may have ended a second later."""
    story = at_step_100()
    end(story)
    resume(story, step)
    assert story.seconds(*WAYS) == pytest.approx((lost, recovery, 8), abs=0.1)
    (found,) = story.resumptions
    assert found.startswith(f"its processes were restarted; resumed at step {step}: {words}")
    assert story.seconds(Bucket.PRODUCTIVE) == pytest.approx((min(step, 100) + 93,), abs=1.1)


def test_of_two_restarts_before_a_step_the_processes_end_with_their_last_step_that_was_read() -> None:
    """A pod has the last end alone, which is that of a program that came to no step."""
    story = at_step_100()
    end(story)
    story.passes(STARTUP)
    end(story)
    resume(story, 80)
    assert story.seconds(*WAYS) == pytest.approx((19, 1 + DOWN + STARTUP + DOWN + STARTUP, 8), abs=0.1)
    assert len(story.resumptions) == 1


def test_each_of_two_restarts_counts_by_itself() -> None:
    story = at_step_100()
    end(story)
    resume(story, 80)
    story.run(7)  # to step 120
    end(story)
    resume(story, 100)
    assert len(story.resumptions) == 2
    assert story.seconds(Bucket.RECOVERY, Bucket.PROGRAM_STARTUP) == pytest.approx((29 + 29, 8), abs=0.2)


def test_a_program_that_was_restarted_before_its_first_step_was_starting_up() -> None:
    story = Timed().assemble()
    story.passes(5)
    end(story)
    resume(story, 0)
    assert story.seconds(*WAYS) == pytest.approx((0, 0, 5 + DOWN + STARTUP), abs=0.1)
    assert story.resumptions == []


@pytest.mark.parametrize("first", [True, False], ids=["by the name of a container before the program's", "after it"])
def test_a_restart_of_a_sidecar_changes_nothing(first: bool) -> None:
    """``started_at`` is that of the first container that runs, and the first by its name may be the sidecar."""
    story = at_step_100()
    before = story.seconds(*WAYS)
    for rank in range(4):
        changes: dict[str, Any] = {"started_at": story.now + 1} if first else {}
        story.set(rank, restarts=1, last_exit=of_sidecar(story), **changes)
    story.run(60)
    story.look(60)
    assert story.seconds(*WAYS) == before
    taken_over(story, 0)
    story.clock += 69
    story.see()
    story.run(60)
    story.look(60)
    assert story.seconds(*WAYS) == before
    assert story.resumptions == []


def test_a_restart_after_that_of_a_sidecar_is_counted() -> None:
    story = at_step_100()
    for rank in range(4):
        story.set(rank, restarts=1, last_exit=of_sidecar(story))
    story.run(9)
    end(story)
    resume(story, 80)
    assert story.seconds(Bucket.RECOVERY, Bucket.PROGRAM_STARTUP) == pytest.approx((30, 8), abs=2)


def test_a_restart_after_another_program_beside_it_sorts_first_is_known_by_the_end_of_its_container() -> None:
    story = at_step_100()
    end(story, started_at=story.pods[0, 0].started_at)
    resume(story, 80)
    assert story.seconds(*WAYS) == pytest.approx((21, 29, 8), abs=0.1)


@pytest.mark.parametrize("step", [80, 0])
def test_a_new_leader_counts_a_restart_that_it_has_not_seen(step: int) -> None:
    """The marks are persisted; the pod shows the end. The leader before it had died with the containers."""
    story = at_step_100()
    story.look(0)
    end(story)
    story.record = from_status(to_status(story.kept))
    story.passes(STARTUP)
    story.begin(step)
    story.clock += 3
    story.step, story.at = step + 3, story.clock
    story.now += 3
    taken_over(story, 0, dead=0)
    story.run(30)
    story.look(60)
    assert story.seconds(*WAYS) == pytest.approx((101 - step, 29, 8), abs=0.2)
    assert len(story.resumptions) == 1


def test_a_new_leader_counts_no_restart_of_before_its_record_again() -> None:
    story = at_step_100()
    end(story)
    resume(story, 80)
    before = story.seconds(*WAYS)
    taken_over(story, 0, dead=3)
    story.run(60)
    story.look(60)
    assert story.seconds(*WAYS) == before
    assert len(story.resumptions) == 1


def test_who_sees_a_gang_only_after_its_restart_invents_no_loss() -> None:
    story = at_step_100()
    end(story)
    story.begin(80, STARTUP)
    story.run(9)
    story.record = None
    story.view.progress = None
    story.look()
    for _ in range(20):
        story.observe_probe(*range(4), passed=True)
        story.see()
        story.run(3)
    story.look(60)
    assert story.seconds(*WAYS) == (0, 0, 0)
    assert story.resumptions == []


def test_a_member_that_ends_because_another_one_has_ended_made_no_step_since() -> None:
    story = at_step_100()
    end(story, 2)
    story.passes(30)  # the patience of the others
    end(story, 0, 1, 3)
    resume(story, 80)
    assert story.seconds(*WAYS) == pytest.approx((21, 40 + 29, 8), abs=0.1)


def test_a_rank_that_reports_before_rank_0_was_not_restarted() -> None:
    """Containers of a gang start at different times."""
    story = Timed().assemble()
    for rank in range(4):
        story.set(rank, started_at=story.now - rank % 2)
    story.begin(0, startup=8.0)
    story.see(1, 2, 3)
    story.run(60)
    story.look(60)
    assert story.seconds(*WAYS) == pytest.approx((0, 0, 8), abs=0.1)
    assert story.resumptions == []


def test_a_restart_by_the_kubelet_after_those_by_torchrun_is_counted() -> None:
    """torchrun's count begins again at 0."""
    story = at_step_100()
    restarted_inside(story, 80)
    story.run(63)
    story.look()
    before = story.seconds(Bucket.RECOVERY)[0]
    end(story)
    resume(story, 100)
    assert story.seconds(Bucket.RECOVERY)[0] == pytest.approx(before + 29, abs=1.1)
    assert len(story.resumptions) == 2


def test_a_restart_that_hangs_before_its_first_step_is_stuck_and_not_recovery() -> None:
    story = at_step_100()
    end(story)
    story.stand(90)
    assert story.condition(ConditionType.STUCK)[0] is True
    resume(story, 80)
    assert story.seconds(Bucket.RECOVERY)[0] <= 30
    assert story.seconds(Bucket.LOST)[0] == pytest.approx(20, abs=1.1)
    assert story.seconds(Bucket.PROGRAM_STARTUP)[0] == pytest.approx(8, abs=0.1)


def test_a_restart_of_a_program_whose_reports_show_no_process_is_counted_if_its_steps_fall() -> None:
    story = at_work(0)
    story.spent = Spent()
    story.run(100)
    story.look(60)
    story.clock += 60
    end(story)
    story.passes(STARTUP)
    story.step, story.at = 80, story.clock
    story.see()
    story.run(60)
    story.look(60)
    assert story.seconds(Bucket.LOST)[0] >= 19
    assert len(story.resumptions) == 1


def test_a_restart_that_no_pod_shows_is_not_counted() -> None:
    """The command starts its program again."""
    story = at_step_100()
    resume(story, 80)
    assert story.seconds(*WAYS) == (0, 0, 8)
    assert story.resumptions == []


def test_a_new_leader_finds_a_restart_without_a_checkpoint_after_more_work_than_there_was_before() -> None:
    story = at_step_100()
    end(story)
    story.record = from_status(to_status(story.kept))
    story.begin(0, STARTUP)
    story.passes(150)
    story.step, story.at = 150, story.clock
    taken_over(story, 0, dead=0)
    story.run(30)
    story.look(60)
    assert story.seconds(*WAYS) == pytest.approx((101, 29, 8), abs=0.2)
