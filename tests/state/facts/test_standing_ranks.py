"""A gang whose ranks have all stopped is Stuck with the reason Hung, which names the rank and its place.

tests/state/view/test_places.py asks which rank is elsewhere, and when a gang is still.
"""

from typing import Any

import pytest

from muster.state.facts.causes.table import Causes
from muster.state.facts.diagnosis.hangs import CALLS
from muster.state.view.places import SILENT, STANDS, PlaceReport
from muster.state.view.progress import HANG_SECONDS, StepReport
from tests.builders import plan, sure
from tests.state.facts.hanging import FREE, AskedStory

LOOK = 5.0
WAITS = ("all_reduce", "train.py", 88)
NEXT = ("next", "data.py", 41)


class Standing(AskedStory):
    """A gang of four whose processes say where they stand: a look of the probe each 5 s."""

    def __init__(self, **overrides: Any) -> None:
        super().__init__(plan(**overrides))
        self.since = dict.fromkeys(range(4), 0.0)
        self.places = dict.fromkeys(range(4), WAITS)
        self.stopped_at: dict[int, float] = {}
        self.digests = dict.fromkeys(range(4), "s")
        self.numbers: dict[int, int] = {}
        self.longest = 1.0
        self.stacks: tuple[tuple[int, tuple[str, ...]], ...] = ()
        self.step: int | None = None

    def run(self, seconds: float, *, standing: bool, reported: bool = True) -> None:
        """Time passes, in which all ranks stand or all move. A rank that is stopped writes nothing new."""
        for _ in range(int(seconds / LOOK)):
            self.now += LOOK
            if not standing:
                self.since = dict.fromkeys(self.since, self.now)
                self.step = self.step if self.step is None else self.step + 5
            places = tuple(map(self.report, self.since)) if reported else None
            steps = None
            if self.step is not None:
                steps = tuple(StepReport(rank, self.step, self.step + 2, float(self.step), 1.0) for rank in self.since)
            self.hear(places=places, stacks=self.stacks, reports=steps)

    def report(self, rank: int) -> PlaceReport:
        at, since, processes = self.stopped_at.get(rank, self.now), self.since[rank], self.numbers.get(rank, 4)
        return PlaceReport(
            rank, at, since, self.longest, 3, *self.places[rank], self.digests[rank], processes=processes
        )


def started(step: int | None = None, **overrides: Any) -> Standing:
    """A gang that has moved for a minute, and reports steps where the first of them is given."""
    story = Standing(**overrides)
    story.step = step
    story.assemble()
    story.run(60, standing=False)
    return story


def test_a_rank_that_stands_elsewhere_is_named_once_with_its_place_and_no_report_until_the_gang_moves() -> None:
    story = started()
    story.places[2] = NEXT
    story.run(STANDS - LOOK, standing=True)
    assert story.stuck == FREE
    story.run(LOOK, standing=True)
    assert story.stuck == (True, "Hung")
    assert story.sentence.startswith("no progress since ")
    assert story.sentence.endswith("Z: rank 2 is in next (data.py:41); the other 3 are in all_reduce (train.py:88)")
    (found,) = story.findings()
    assert (found.cause, found.ranks, found.what) == (Causes.HUNG, (2,), "in next (data.py:41)")
    assert sure(story.kept.known).ranks == "2"
    writes, words = story.writes, story.sentence
    story.run(3600, standing=True)
    assert (story.writes, story.sentence) == (writes, words)
    story.run(2 * LOOK, standing=False)
    assert story.stuck == FREE


def test_a_rank_that_joined_with_another_number_of_processes_is_named_and_the_gang_is_not_stuck() -> None:
    """jax compares the numbers of no two ranks."""
    story = started()
    assert story.kept.message == "4/4 ranks arrived"
    story.numbers = {1: 3}
    story.run(LOOK, standing=False)
    assert story.kept.message == "4/4 ranks arrived; rank 1 joined with 3 processes; the coordinator has 4"
    assert story.stuck == FREE
    writes = story.writes
    story.run(600, standing=False)
    assert story.writes == writes


def test_the_evidence_has_the_innermost_calls_of_the_rank_that_stands_elsewhere() -> None:
    story = started()
    story.places[2] = NEXT
    story.stacks = (
        (0, ("all_reduce (/app/train.py:88)",)),
        (2, tuple(f"f{call} (/app/data.py:41)" for call in range(9))),
    )
    story.run(STANDS + LOOK, standing=True)
    (found,) = story.findings()
    assert found.evidence.endswith(
        "; rank 2, the innermost call first: " + ", ".join(f"f{call} (/app/data.py:41)" for call in range(CALLS))
    )
    assert "innermost" not in story.sentence


def test_a_hang_by_reports_says_where_the_ranks_stand() -> None:
    story = started(step=0)
    story.places[2] = NEXT
    story.longest = 30.0  # the stands of the threads alone say nothing before 150 s
    story.run(HANG_SECONDS + LOOK, standing=True)
    assert story.stuck == (True, "Hung")
    assert (
        "(last step 60): rank 2 is in next (data.py:41); the other 3 are in all_reduce (train.py:88)" in story.sentence
    )
    (found,) = story.findings()
    assert (found.ranks, found.what) == ((2,), "stopped at step 60, in next (data.py:41)")


def test_a_hang_by_reports_with_equal_stacks_names_no_rank() -> None:
    story = started(step=0)
    story.run(HANG_SECONDS + LOOK, standing=True)
    assert "all 4 ranks are in all_reduce (train.py:88), with equal stacks" in story.sentence
    assert sure(story.kept.known).ranks == ""


def test_a_rank_that_was_stopped_on_its_way_is_reported_to_be_nowhere_until_it_is_known_to_be_silent() -> None:
    """Its last word is of a place where it was no longer when it was stopped, and the places were not read since."""
    story = started(step=0)
    story.stopped_at[1] = story.now
    story.run(HANG_SECONDS + LOOK, standing=True, reported=False)
    assert story.stuck == (True, "Hung")
    assert "all_reduce" not in story.sentence
    assert not [each for each in story.findings() if "in " in each.what]
    story.run(SILENT + LOOK, standing=True)
    assert "rank 1 does not respond (last seen in all_reduce" in story.sentence


def test_a_daemon_that_takes_over_keeps_the_hang_and_ends_it_with_the_next_move() -> None:
    story = started()
    story.places[2] = NEXT
    story.run(STANDS + LOOK, standing=True)
    story.change_leader()
    assert story.stuck == (True, "Hung")
    story.run(SILENT, standing=True)
    story.look()
    assert story.stuck == (True, "Hung")
    story.run(2 * LOOK, standing=False)
    story.look()
    assert story.stuck == FREE


@pytest.mark.parametrize("step", [5.0, -3600.0, 3600.0])
def test_a_step_of_the_wall_clock_silences_no_rank(step: float) -> None:
    story = started()
    story.run(LOOK, standing=False)
    story.now += step
    story.view.clock_stepped(step)
    story.run(LOOK, standing=False)
    assert all(group.answers for group in sure(story.view.places_of(0)).groups)


def test_the_time_since_which_no_rank_makes_progress_is_not_productive() -> None:
    story = started()
    story.places[2], began = NEXT, story.now
    story.run(80, standing=True)
    assert story.stuck == (True, "Hung")
    sums = sure(story.kept.goodput).at(story.now)
    assert sums.stuck == pytest.approx(1000 * (story.now - began), abs=1)
    assert sums.productive - sums.taken_back == pytest.approx(60_000, abs=1)
