"""A gang that reports and makes no step any more is Stuck with the reason Hung, and the clock ``progress`` sees steps.

tests/state/view/test_progress.py asks how long a silence must be.
"""

from typing import Any

from muster.state.view.progress import StepReport
from muster.state.view.roll import RankState
from muster.state.vocabulary.record import Phase
from muster.state.vocabulary.rules import ClockAction, ClockName
from tests.builders import Clock, plan
from tests.state.facts.hanging import FREE, AskedStory

LOOK = 3.0
ALL = (0, 1, 2, 3)
FIRST = 1
"""The decision that the first step asks for which this daemon sees: the record may have a hang that is over."""


class Reporting(AskedStory):
    """A gang of four that reports its steps; a look of the probe every 3 s."""

    speed = 1.0
    """Steps a second."""
    decides = False
    """A decision follows each look, also where the view asks for none."""

    def __init__(self, **overrides: Any) -> None:
        super().__init__(plan(**overrides))
        self.steps, self.at = dict.fromkeys(ALL, 0), dict.fromkeys(ALL, 1000.0)
        self.decisions = 0
        self.assemble()

    def run(self, seconds: float, *, stopped: tuple[int, ...] = ()) -> None:
        """Time passes; every rank that is not stopped makes steps."""
        for _ in range(int(seconds / LOOK)):
            self.now += LOOK
            for rank in {*ALL} - {*stopped}:
                self.steps[rank] += int(LOOK * self.speed)
                self.at[rank] += LOOK
            reports = (StepReport(rank, step, step + 1, self.at[rank], 1.0) for rank, step in self.steps.items())
            asked = self.hear(reports=tuple(reports))
            self.decisions += asked
            if self.decides and not asked:
                self.look()


def test_a_gang_without_a_step_is_hung_and_says_who_is_behind_until_the_next_step() -> None:
    story = Reporting()
    story.run(120)
    assert story.stuck == FREE
    story.steps[3] -= 1
    story.run(45, stopped=ALL)  # the step down of rank 3 is its last report
    assert story.stuck == FREE
    story.run(3, stopped=ALL)
    assert story.stuck == (True, "Hung")
    assert story.sentence.startswith("no step since ")
    assert story.sentence.endswith("Z (last step 120, rank 3 at 119)")
    assert (story.kept.phase, story.kept.reason) == (Phase.RUNNING, "Hung")
    assert "4/4 ranks arrived" in story.kept.message
    story.run(3)
    assert (story.stuck, story.kept.reason) == (FREE, "RollComplete")


def test_the_end_of_a_hang_is_called_progress_only_where_the_gang_moved() -> None:
    moved, ended = Reporting(), Reporting()
    for story in (moved, ended):
        story.run(30)
        story.run(66, stopped=ALL)
        assert story.stuck == (True, "Hung")
    moved.run(3)
    ended.end(2)
    ended.look(1)
    assert [story.kept.story[-1].message for story in (moved, ended)] == [
        "progress resumed (was: Hung)",
        "rank 2 ended with exit code 0 (was: Hung)",
    ]


def test_steps_and_a_hang_cost_two_writes_and_two_decisions() -> None:
    story = Reporting()
    story.run(3000)
    assert (story.decisions, story.stuck) == (FIRST, FREE)
    writes = story.writes
    story.run(600, stopped=ALL)
    story.run(300)
    assert (story.writes - writes, story.decisions - FIRST) == (2, 2)


def test_a_gang_that_ends_does_not_hang() -> None:
    story = Reporting()
    story.run(30)
    story.end(1)
    story.run(90, stopped=ALL)
    story.look()
    assert story.stuck == FREE


def test_a_gang_that_leaves_in_good_order_does_not_hang() -> None:
    story = Reporting()
    story.run(30)
    story.hear(states=(RankState.LEFT,) * 4)
    story.run(90, stopped=ALL)
    story.look()
    assert story.stuck == FREE


def test_a_restart_ends_the_hang_and_the_next_epoch_begins_without_one() -> None:
    story = Reporting()
    story.run(30)
    story.run(66, stopped=ALL)
    story.end(2, 1)
    story.look()
    assert story.kept.epoch == 1
    assert story.stuck == FREE
    assert story.view.progress_of(1) is None


def test_a_daemon_that_takes_over_in_a_hang_leaves_it_until_it_sees_a_step() -> None:
    story = Reporting()
    story.run(30)
    story.run(66, stopped=ALL)
    writes = story.writes
    story.change_leader()
    story.run(30, stopped=ALL)
    story.look()
    assert (story.stuck, story.writes) == ((True, "Hung"), writes)
    story.run(6)
    story.look()
    assert story.stuck == FREE


def test_steps_are_signs_for_the_clock_progress() -> None:
    story = Reporting(clocks={ClockName.PROGRESS: Clock(100.0, ClockAction.FAIL)})
    for _ in range(20):
        story.run(30)
        story.look()
    assert story.kept.phase is Phase.RUNNING
    story.run(99, stopped=ALL)
    story.look()
    assert story.kept.phase is Phase.RUNNING
    story.look(1)
    assert (story.kept.phase, story.kept.reason) == (Phase.FAILED, "ProgressDeadlineExceeded")
    assert "within 100 s: last step 600; the gang was blocked for 100s (Hung: " in story.kept.message
