"""Progress: steps per second, the slowest rank, stragglers and hangs, from what ranks report."""

from collections.abc import Iterable, Mapping

import pytest

from muster.state.summary.status import of_progress
from muster.state.view.lead import Spent
from muster.state.view.progress import HANG_SECONDS, LONGEST_INTERVAL, Progress, StepReport, steps_progress
from muster.state.view.roll import CoordinatorState, RankState, RollAnswer
from muster.state.view.view import View
from tests.builders import sure

LOOK = 3.0
BEGIN = 1_000.0


def reports(
    steps: Mapping[int, int], at: float, longest: float = 0.1, count: int | None = None
) -> tuple[StepReport, ...]:
    """One report per rank; a rank that has got no further reports nothing new, so its clock stands, too."""
    return tuple(
        StepReport(rank, step, step + 1 if count is None else count, at, longest) for rank, step in steps.items()
    )


def look(words: Iterable[StepReport], at: float, before: Progress | None = None, epoch: int = 0) -> Progress:
    """The progress after these reports were read."""
    return sure(steps_progress(tuple(words), epoch, at, before))


class Gang:
    """Ranks that run at their own speed, read every three seconds."""

    def __init__(self, speeds: Mapping[int, float], longest: float = 0.1) -> None:
        self.speeds, self.longest = dict(speeds), longest
        self.done = dict.fromkeys(speeds, 0.0)
        self.stopped_at = dict.fromkeys(speeds, BEGIN)
        self.now = BEGIN
        self.progress: Progress | None = None

    def look(self, times: int = 1) -> Progress:
        for _ in range(times):
            self.now += LOOK
            for rank, speed in self.speeds.items():
                if speed:
                    self.done[rank] += speed * LOOK
                    self.stopped_at[rank] = self.now
            seen = tuple(
                StepReport(rank, int(done), int(done) + 1, self.stopped_at[rank], self.longest)
                for rank, done in self.done.items()
            )
            self.progress = look(seen, self.now, self.progress)
        assert self.progress is not None
        return self.progress


def test_nothing_is_reported_of_programs_that_do_not_report() -> None:
    assert steps_progress((), 0, BEGIN, None) is None


def test_the_step_of_the_gang_is_one_that_half_of_the_ranks_have_reached() -> None:
    seen = look(reports({0: 1840, 1: 1840, 2: 1839, 3: 9}, BEGIN), BEGIN)
    assert (seen.step, seen.reporting) == (1840, 4)


def test_steps_per_second_are_those_of_the_programs_own_clocks() -> None:
    seen = Gang({0: 10.0, 1: 10.0, 2: 10.0}).look(5)
    assert seen.rate == pytest.approx(10.0)
    assert of_progress(seen, BEGIN) == "step 150, 10 steps/s"


def test_a_change_of_speed_shows_within_a_minute() -> None:
    gang = Gang({0: 10.0, 1: 10.0})
    gang.look(100)
    gang.speeds = {0: 2.0, 1: 2.0}
    assert gang.look(22).rate == pytest.approx(2.0)


def test_one_report_has_no_rate() -> None:
    seen = Gang({0: 10.0}).look()
    assert seen.rate is None
    assert not seen.moved


def test_a_slowed_rank_is_the_slowest_and_then_a_straggler() -> None:
    gang = Gang({0: 10.0, 1: 10.0, 2: 10.0})
    gang.look(4)
    gang.speeds[2] = 2.0
    assert gang.look(9).slowest == 2  # 8 steps/s less: 200 steps behind after 25 s
    assert sure(gang.progress).straggling == 0
    seen = gang.look(3)
    assert seen.stragglers == (2,)
    assert "slowest rank 2 at " in of_progress(seen, gang.now)


def test_a_rank_is_no_straggler_before_the_third_look() -> None:
    gang = Gang({0: 10.0, 1: 10.0, 2: 10.0})
    gang.look(4)
    gang.done[2] = -500.0  # 20 s of work are 200 steps
    gang.speeds[2] = 0.0
    assert [gang.look().straggling for _ in range(3)] == [0, 0, 1]


def test_a_straggler_that_catches_up_is_none_any_more() -> None:
    gang = Gang({0: 10.0, 1: 10.0, 2: 1.0})
    assert gang.look(10).stragglers == (2,)
    gang.done[2] = gang.done[0]
    gang.speeds[2] = 10.0
    assert gang.look().stragglers == ()


def test_values_that_are_of_different_moments_make_no_slowest_rank() -> None:
    """Each rank writes every ten seconds at a moment of its own: at 10 steps/s they look up to 100 steps apart."""
    gang = Gang({0: 10.0, 1: 10.0, 2: 10.0})
    gang.done = {0: 90.0, 1: 50.0, 2: 0.0}
    assert gang.look(5).slowest is None


def test_two_slow_steps_apart_are_no_straggler() -> None:
    gang = Gang({0: 0.01, 1: 0.01, 2: 0.0}, longest=100.0)
    gang.done = {0: 12.0, 1: 12.0, 2: 10.0}
    assert gang.look(5).straggling == 0


def test_no_step_for_a_minute_is_a_hang() -> None:
    gang = Gang({0: 1.0, 37: 1.0}, longest=1.0)
    gang.look(5)
    gang.speeds = {0: 0.0, 37: 0.0}
    assert not gang.look(19).hung
    assert gang.look(2).hung


def test_no_step_for_45_seconds_with_one_rank_behind_is_a_hang_and_the_next_step_ends_it() -> None:
    gang = Gang({0: 1.0, 37: 1.0}, longest=1.0)
    gang.look(4)
    gang.speeds = {0: 0.0, 37: 0.0}
    gang.done[37] -= 1
    gang.look()
    assert not gang.look(14).hung
    seen = gang.look(2)
    assert seen.hung
    assert seen.slowest == 37
    assert of_progress(seen, gang.now + 132).startswith("no step since 3m, step 12, ")
    gang.speeds = {0: 1.0, 37: 0.0}
    assert not gang.look().hung


def test_a_pause_as_long_as_one_before_it_is_no_hang() -> None:
    """A checkpoint of five minutes was seen: from then on 25 minutes are waited for."""
    gang = Gang({0: 1.0}, longest=300.0)
    gang.look(4)
    gang.speeds = {0: 0.0}
    assert not gang.look(499).hung
    assert gang.look(2).hung


def test_an_announced_pause_is_waited_for_and_leaves_the_patience_as_it_was() -> None:
    gang = Gang({0: 1.0, 1: 1.0}, longest=1.0)
    before = gang.look(4)
    at, seen = gang.now + 1.0, before
    for waited in (0.0, 300.0, 599.0):
        words = tuple(StepReport(rank, 12, 13, at, 1.0, pause=600.0 if rank else 0.0) for rank in (0, 1))
        seen = look(words, at + waited, seen)
        assert (seen.hung, seen.patience) == (False, 600.0)
    over = look(words, at + 600.0, seen)
    assert over.hung, "it takes longer than announced"
    back = look([StepReport(rank, 13, 15, at + 601.0, 1.0) for rank in (0, 1)], at + 601.0, over)
    assert (back.hung, back.patience) == (False, HANG_SECONDS)


def test_a_pause_is_believed_for_six_hours_at_most_and_so_is_the_longest_interval() -> None:
    assert look([StepReport(0, 1, 2, BEGIN, 1.0, pause=1e9)], BEGIN).patience == LONGEST_INTERVAL
    assert look(reports({0: 1}, BEGIN, longest=1e9), BEGIN).patience == 5 * LONGEST_INTERVAL == 5 * 6 * 3600


def test_nothing_hangs_before_a_second_report() -> None:
    """The first step compiles, for as long as it takes."""
    seen = None
    for number in range(400):
        seen = look(reports({0: 0, 1: 0}, BEGIN), BEGIN + number * LOOK, seen)
    assert seen is not None
    assert not seen.hung
    assert look(reports({0: 1, 1: 0}, BEGIN + 1200), BEGIN + 1200, seen).repeated


@pytest.mark.parametrize(
    ("spent", "words"),
    [(Spent(restarts=1), "step 40, processes restarted once by torchrun"), (Spent(first=40), "step 40")],
    ids=["by torchrun", "by the kubelet"],
)
def test_nothing_hangs_before_a_second_report_of_processes_that_were_restarted(spent: Spent, words: str) -> None:
    gang = Gang({0: 1.0, 1: 1.0})
    before = seen = gang.look(20)
    first = [StepReport(rank, 40, 1, gang.now + 9, 0.0, spent=spent) for rank in (0, 1)]
    for number in range(1, 400):
        seen = look(first, gang.now + 9 + number * LOOK, seen)
    assert (seen.hung, seen.rate, seen.restarts) == (False, None, spent.restarts)
    assert (seen.former, before.former) == (before.lead, None)
    assert of_progress(seen, gang.now) == words


def test_further_reports_of_one_step_bridge_a_pause() -> None:
    seen = None
    for number in range(200):
        at = BEGIN + number * LOOK
        seen = look(reports({0: 7}, at, count=number), at, seen)
    assert seen is not None
    assert (seen.repeated, seen.hung) == (True, False)


def test_silence_of_the_coordinator_is_no_hang() -> None:
    """A look that could not read the reports says nothing: the time of the last one that could counts."""
    gang = Gang({0: 1.0}, longest=1.0)
    gang.look(4)
    gang.now += 600
    assert not sure(gang.progress).hung
    assert not gang.look().hung


def test_a_daemon_that_takes_over_waits_from_its_own_first_look() -> None:
    gang = Gang({0: 1.0}, longest=1.0)
    gang.look(20)
    gang.speeds, gang.progress = {0: 0.0}, None
    assert not gang.look(20).hung
    assert gang.look().hung


def test_a_rate_goes_down_while_nothing_is_reported() -> None:
    gang = Gang({0: 10.0}, longest=1.0)
    before = gang.look(10).rate
    gang.speeds = {0: 0.0}
    after = gang.look(40).rate
    assert before
    assert after
    assert after < before / 3


def test_a_program_that_starts_over_has_no_negative_rate() -> None:
    gang = Gang({0: 10.0})
    gang.look(10)
    gang.done[0] = 0.0
    seen = gang.look()
    assert seen.rate is None
    assert seen.moved
    assert gang.look(2).rate == pytest.approx(10.0)


def test_another_epoch_begins_anew() -> None:
    gang = Gang({0: 10.0}, longest=500.0)
    gang.look(5)
    seen = look(reports({0: 3}, 1.0), gang.now, gang.progress, epoch=1)
    assert (seen.epoch, seen.rate, seen.longest, seen.moved) == (1, None, 0.1, False)


def test_an_empty_look_keeps_what_was_known() -> None:
    gang = Gang({0: 10.0})
    before = gang.look(3)
    assert steps_progress((), 0, gang.now + LOOK, before) is before


def answer(
    at: float, seen: tuple[StepReport, ...] | None, state: CoordinatorState = CoordinatorState.SERVING
) -> RollAnswer:
    return RollAnswer(at=at, coordinator=state, expected=1, states=(RankState.CONNECTED,), reports=seen)


def test_the_view_asks_for_a_decision_when_a_hang_begins_and_ends_and_not_at_a_step() -> None:
    view = View()
    view.observe_probe(answer(BEGIN, reports({0: 1}, 1.0)), 0)
    asked = [view.observe_probe(answer(BEGIN + number * LOOK, reports({0: 5}, 2.0)), 0) for number in range(1, 30)]
    assert asked.index(True) == 0, "the first step that this daemon sees may end a hang of the record"
    assert asked.count(True) == 2
    assert view.observe_probe(answer(BEGIN + 100, reports({0: 6}, 99.0)), 0)
    assert not view.observe_probe(answer(BEGIN + 103, reports({0: 7}, 102.0)), 0)


def test_the_view_keeps_progress_over_looks_that_did_not_read_it() -> None:
    view = View()
    view.observe_probe(answer(BEGIN, reports({0: 1}, 1.0)), 0)
    view.observe_probe(answer(BEGIN + 1, None), 0)
    assert sure(view.progress_of(0)).step == 1
    assert view.progress_of(1) is None
    assert sure(view.probe).answer.reports is None


def test_a_step_of_the_wall_clock_moves_the_times() -> None:
    view = View()
    view.observe_probe(answer(BEGIN, reports({0: 1}, 1.0)), 0)
    view.observe_probe(answer(BEGIN + 3, reports({0: 2}, 4.0)), 0)
    view.clock_stepped(3600.0)
    view.observe_probe(answer(BEGIN + 3606, reports({0: 2}, 4.0)), 0)
    seen = sure(view.progress_of(0))
    assert seen.moved_at == BEGIN + 3603
    assert not seen.hung


@pytest.mark.parametrize(
    ("looks", "length", "unwatched"),
    [
        pytest.param((0, 43), 100.0, 100.0, id="it began before this daemon looked"),
        pytest.param((0, 43), 59.0, 0.0, id="no hang"),
        pytest.param((0, 66), 130.0, 0.0, id="this daemon has seen that the gang hangs"),
        pytest.param((0,), 100.0, 100.0, id="it ends after the first look"),
    ],
)
def test_the_first_movement_shows_the_length_of_a_hang_that_began_before(
    looks: tuple[float, ...], length: float, unwatched: float
) -> None:
    progress = None
    for at in looks:
        progress = look(reports({0: 40, 1: 40}, 500.0), BEGIN + at, progress)
    for step in (41, 42):  # it stays known
        progress = look(reports({0: step, 1: step}, 500 + length + step, length), BEGIN + 67, progress)
        assert progress.unwatched == unwatched


def test_what_this_daemon_could_not_read_of_a_gang_that_it_saw_move_is_no_unwatched_hang() -> None:
    gang = Gang({0: 1.0, 1: 1.0})
    gang.look(10)
    gang.longest = 100.0
    assert gang.look().unwatched == 0
