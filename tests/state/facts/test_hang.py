"""A gang that reports and gets on no more is Stuck with the reason Hung, and the clock ``progress`` sees steps."""

from dataclasses import replace
from typing import Any

import pytest

from muster.state.facts.causes.table import Causes
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.diagnose import diagnose
from muster.state.view.progress import StepReport
from muster.state.view.roll import RankState
from muster.state.vocabulary.record import ConditionType, Phase
from muster.state.vocabulary.rules import ClockAction, ClockName
from tests.builders import Clock, plan
from tests.state.story import Story

STUCK = ConditionType.STUCK
LOOK = 3.0
FREE = (False, "NotStuck")

FIRST = 1
"""The decision that the first step asks for which this daemon sees: the record may have a hang that is over."""


class Reporting(Story):
    """A gang of four that reports; a look of the probe and a decision, if the view asks for one, every 3 s."""

    def __init__(self, longest: float = 1.0, **overrides: Any) -> None:
        super().__init__(plan(**overrides))
        self.steps = dict.fromkeys(range(4), 0)
        self.longest = longest
        self.decisions = 0

    def run(self, seconds: float, *, stopped: tuple[int, ...] = (), reported: bool = True) -> None:
        """Time passes; every rank that is not stopped makes a step a second."""
        for _ in range(int(seconds / LOOK)):
            self.now += LOOK
            for rank in self.steps:
                if rank not in stopped:
                    self.steps[rank] += int(LOOK)
            said = tuple(
                StepReport(rank, step, step + 1, 1000.0 + step, self.longest) for rank, step in self.steps.items()
            )
            answer = self.observe_probe_with(said if reported else None)
            if answer:
                self.decisions += 1
                self.look()

    def observe_probe_with(self, said: tuple[StepReport, ...] | None) -> bool:
        roll = self.view.probe
        assert roll is not None
        return self.view.observe_probe(replace(roll.answer, at=self.now, reports=said), self.kept.epoch)

    @property
    def stuck(self) -> tuple[bool | None, str]:
        return self.condition(STUCK)


def test_a_gang_without_a_step_is_hung_and_says_who_is_behind() -> None:
    story = Reporting()
    story.assemble()
    story.run(120)
    assert story.stuck == FREE
    story.steps[3] -= 1
    story.run(45, stopped=(0, 1, 2, 3))  # the step down of rank 3 is its last report
    assert story.stuck == FREE
    story.run(3, stopped=(0, 1, 2, 3))
    assert story.stuck == (True, "Hung")
    stuck = story.kept.condition(STUCK)
    assert stuck is not None
    assert stuck.message.endswith("Z (last step 120, rank 3 at 119)")
    assert stuck.message.startswith("no step since ")
    assert story.kept.phase is Phase.RUNNING
    assert story.kept.reason == "Hung"
    assert "4/4 ranks arrived" in story.kept.message


def test_the_next_step_ends_the_hang() -> None:
    story = Reporting()
    story.assemble()
    story.run(30)
    story.run(66, stopped=(0, 1, 2, 3))
    assert story.stuck == (True, "Hung")
    story.run(3)
    assert story.stuck == FREE
    assert story.kept.reason == "RollComplete"


def test_steps_and_a_hang_cost_two_writes_and_two_decisions() -> None:
    story = Reporting()
    story.assemble()
    story.run(3000)
    assert (story.decisions, story.stuck) == (FIRST, FREE)
    writes = story.writes
    story.run(600, stopped=(0, 1, 2, 3))
    story.run(300)
    assert (story.writes - writes, story.decisions - FIRST) == (2, 2)


@pytest.mark.parametrize("pause", [30.0, 60.0])
def test_a_pause_of_up_to_a_minute_is_no_hang(pause: float) -> None:
    story = Reporting()
    story.assemble()
    story.run(30)
    story.run(pause - LOOK, stopped=(0, 1, 2, 3))
    story.run(30)
    assert story.decisions == FIRST


def test_checkpoints_that_take_five_minutes_are_no_hang_once_one_was_seen() -> None:
    story = Reporting(longest=300.0)
    story.assemble()
    for _ in range(10):
        story.run(90)
        story.run(300, stopped=(0, 1, 2, 3))
    assert (story.decisions, story.stuck) == (FIRST, FREE)


def test_one_rank_that_gets_on_is_no_hang() -> None:
    story = Reporting()
    story.assemble()
    story.run(600, stopped=(0, 1, 2))
    assert story.stuck == FREE


def test_a_program_that_does_not_report_never_hangs() -> None:
    story = Reporting()
    story.assemble()
    story.run(36_000, stopped=(0, 1, 2, 3), reported=False)
    story.look()
    assert story.stuck == FREE


def test_a_gang_that_ends_does_not_hang() -> None:
    story = Reporting()
    story.assemble()
    story.run(30)
    story.end(1)
    story.run(90, stopped=(0, 1, 2, 3))
    story.look()
    assert story.stuck == FREE


def test_a_gang_that_leaves_in_good_order_does_not_hang() -> None:
    story = Reporting()
    story.assemble()
    story.run(30)
    roll = story.view.probe
    assert roll is not None
    left = replace(roll.answer, at=story.now, states=(RankState.LEFT,) * 4)
    story.view.observe_probe(left, 0)
    story.run(90, stopped=(0, 1, 2, 3))
    story.look()
    assert story.stuck == FREE


def test_a_restart_ends_the_hang_and_the_next_epoch_begins_without_one() -> None:
    story = Reporting()
    story.assemble()
    story.run(30)
    story.run(66, stopped=(0, 1, 2, 3))
    story.end(2, 1)
    story.look()
    assert story.kept.epoch == 1
    assert story.stuck == FREE
    assert story.view.progress_of(1) is None


def test_a_daemon_that_takes_over_in_a_hang_leaves_it_until_it_sees_a_step() -> None:
    story = Reporting()
    story.assemble()
    story.run(30)
    story.run(66, stopped=(0, 1, 2, 3))
    writes = story.writes
    before = story.take_over()
    assert before.probe is not None
    story.view.observe_probe(replace(before.probe.answer, at=story.now), 0)
    story.look()
    story.run(30, stopped=(0, 1, 2, 3))
    story.look()
    assert (story.stuck, story.writes) == ((True, "Hung"), writes)
    story.run(6)
    story.look()
    assert story.stuck == FREE


def test_the_ranks_that_are_behind_are_the_finding() -> None:
    story = Reporting()
    story.assemble()
    story.run(30)
    assert diagnose(Context.at(story.plan, story.kept, story.view, story.now)) == ()
    story.steps[3] -= 2
    story.run(90, stopped=(0, 1, 2, 3))
    (found,) = diagnose(Context.at(story.plan, story.kept, story.view, story.now))
    assert (found.cause, found.ranks, found.what) == (Causes.HUNG, (3,), "stopped at step 28")
    assert "muster stacks" in found.next_step


def test_where_no_rank_is_behind_all_of_them_hang() -> None:
    story = Reporting()
    story.assemble()
    story.run(30)
    story.run(90, stopped=(0, 1, 2, 3))
    (found,) = diagnose(Context.at(story.plan, story.kept, story.view, story.now))
    assert (found.ranks, found.what) == ((0, 1, 2, 3), "stopped at step 30")


def test_steps_are_signs_for_the_clock_progress() -> None:
    story = Reporting(clocks={ClockName.PROGRESS: Clock(100.0, ClockAction.FAIL)})
    story.assemble()
    for _ in range(20):
        story.run(30)
        story.look()
    assert story.kept.phase is Phase.RUNNING
    story.run(99, stopped=(0, 1, 2, 3))
    story.look()
    assert story.kept.phase is Phase.RUNNING
    story.look(1)
    assert (story.kept.phase, story.kept.reason) == (Phase.FAILED, "ProgressDeadlineExceeded")
    assert "within 100 s: last step 600; the gang was blocked for 100s (Hung: " in story.kept.message
