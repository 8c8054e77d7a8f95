"""Who comes last to collectives, by how often each process is seen to wait in them."""

from muster.state.summary.status import of_arrivals
from muster.state.view.recorder.arrivals import (
    FEWEST,
    SAMPLES,
    WINDOW,
    Arrivals,
    CollectiveReport,
    Share,
    arrivals_in_turns,
)
from muster.state.view.turns import finished
from tests.builders import sure

LOOK = 3.0
PER_LOOK = 6
"""Samples between two looks."""


class Gang:
    """Processes of which each waits for a share of its time; a look every 3 s, ten collectives between two."""

    def __init__(self, *waits: float) -> None:
        self.waits = dict(enumerate(waits))
        self.elsewhere = dict.fromkeys(self.waits, 0.0)
        self.member = {rank: rank for rank in self.waits}
        self.size = len(waits)
        self.life = 1
        self.now, self.samples, self.entered = 1000.0, 0.0, 0.0
        self.inside = dict.fromkeys(self.waits, 0.0)
        self.away = dict.fromkeys(self.waits, 0.0)
        self.seen: Arrivals | None = None

    def run(
        self, seconds: float, *, samples: float = PER_LOOK, collectives: float = 10, absent: tuple[int, ...] = ()
    ) -> None:
        for _ in range(int(seconds / LOOK)):
            self.now += LOOK
            self.samples += samples
            self.entered += collectives
            for rank, waits in self.waits.items():
                self.inside[rank] += waits * samples
                self.away[rank] += self.elsewhere[rank] * samples
            self.look(absent)

    def look(self, absent: tuple[int, ...] = (), *, epoch: int = 0) -> None:
        reports = [
            CollectiveReport(self.member[rank], rank, self.life, 1, 1, 0.0, 0.0, None, (self.share(rank),))
            for rank in self.waits
            if rank not in absent
        ]
        self.seen = finished(arrivals_in_turns(reports, epoch, self.now, self.seen))

    def share(self, rank: int) -> Share:
        counts = int(self.entered), int(self.samples), int(self.inside[rank]), int(self.away[rank])
        return Share("0", "default_pg", "gloo", self.size, f"0-{self.size - 1}", *counts)

    @property
    def last(self) -> tuple[int, ...]:
        return tuple(each.rank for each in self.seen.last) if self.seen else ()


def test_the_rank_that_waits_least_comes_last_after_five_windows() -> None:
    gang = Gang(0.7, 0.05, 0.7, 0.66)
    gang.run(5 * WINDOW)
    assert gang.last == ()
    gang.run(2 * LOOK)
    assert gang.last == (1,)
    seen = sure(gang.seen)
    assert seen.members == (1,)
    assert of_arrivals(seen) == (
        "rank 1 comes last to the collectives of default_pg, 0.19 s after half of the others: it waits in them for 5% "
        "of its time, they for 70%"
    )


def test_ranks_that_wait_alike_are_not_named() -> None:
    for waits in ((0.7, 0.72, 0.65, 0.68), (0.05, 0.02, 0.0, 0.04), (0.9, 0.75, 0.9, 0.9), (0.5, 0.36, 0.5, 0.5)):
        gang = Gang(*waits)
        gang.run(20 * WINDOW)
        assert gang.last == ()
        assert gang.seen is not None
        assert of_arrivals(gang.seen) == ""


def test_the_last_of_two_ranks_and_two_that_are_last_together_are_named() -> None:
    pair = Gang(0.6, 0.1)
    pair.run(6 * WINDOW)
    assert pair.last == (1,)
    gang = Gang(0.05, 0.8, 0.8, 0.1, 0.8)
    gang.run(6 * WINDOW)
    assert gang.last == (0, 3)
    assert gang.seen is not None
    assert of_arrivals(gang.seen).startswith("ranks 0, 3 come last to the collectives of default_pg")


def test_a_rank_that_waits_for_a_slower_one_is_not_named_beside_it() -> None:
    gang = Gang(0.8, 0.4, 0.05, 0.8)
    gang.run(6 * WINDOW)
    assert gang.last == (2,)


def test_a_rank_that_waits_in_another_group_is_not_late_itself() -> None:
    gang = Gang(0.8, 0.1, 0.8, 0.8)
    gang.elsewhere[1] = 0.5
    gang.run(5 * WINDOW)
    assert gang.last == ()


def test_one_slow_window_is_not_reported_and_one_fast_one_takes_nothing_back() -> None:
    gang = Gang(0.8, 0.05, 0.8, 0.8)
    gang.run(4 * WINDOW + LOOK)
    gang.waits[1] = 0.8
    gang.run(WINDOW)
    gang.waits[1] = 0.05
    gang.run(3 * WINDOW)
    gang.waits[1] = 0.8
    gang.run(6 * WINDOW)
    assert gang.last == ()
    gang.waits[1] = 0.05
    gang.run(7 * WINDOW)
    assert gang.last == (1,)
    gang.waits[1] = 0.8
    gang.run(WINDOW + LOOK)
    assert gang.last == (1,)
    gang.run(7 * WINDOW)
    assert gang.last == ()


def test_nothing_is_reported_where_a_member_of_the_group_is_not_known() -> None:
    gang = Gang(0.8, 0.05, 0.8, 0.8)
    gang.run(5 * WINDOW, absent=(3,))
    assert gang.last == ()
    gang.run(6 * WINDOW + 2 * LOOK)
    assert gang.last == (1,)
    gang.run(2 * WINDOW, absent=(3,))
    assert gang.last == ()


def test_nothing_is_reported_with_few_samples_or_few_collectives() -> None:
    few = Gang(0.8, 0.05, 0.8, 0.8)
    few.run(9 * WINDOW, samples=(SAMPLES - 10) * LOOK / WINDOW)
    assert few.last == ()
    slow = Gang(0.8, 0.05, 0.8, 0.8)
    slow.run(30 * WINDOW, collectives=(FEWEST - 1) * LOOK / (6 * WINDOW))
    assert slow.last == ()


def test_slow_steps_fill_a_window_later() -> None:
    gang = Gang(0.8, 0.05, 0.8, 0.8)
    gang.run(16 * WINDOW, collectives=FEWEST * LOOK / (2 * WINDOW))
    assert gang.last == (1,)


def test_ranks_that_have_not_entered_as_many_collectives_are_not_compared() -> None:
    share, seen = Gang(0.8, 0.05).share(0), None
    for window in range(12):
        shares = [
            share._replace(entered=100 * window * (1 + rank), samples=120 * window, inside=window * (1 - rank))
            for rank in range(2)
        ]
        reports = [CollectiveReport(rank, rank, 1, 1, 1, 0.0, 0.0, None, (shares[rank],)) for rank in range(2)]
        seen = finished(arrivals_in_turns(reports, 0, 1000.0 + window * WINDOW, seen))
    assert seen is not None
    assert seen.last == ()


def test_counts_that_are_no_counts_are_left_out() -> None:
    gang = Gang(2.0, 0.05, 2.0, 2.0)
    gang.run(6 * WINDOW)
    assert gang.last == ()


def test_another_life_epoch_or_a_clock_that_was_set_back_begins_again() -> None:
    gang = Gang(0.8, 0.05, 0.8, 0.8)
    gang.run(6 * WINDOW)
    assert gang.last == (1,)
    gang.life = 2
    gang.run(2 * WINDOW)
    assert gang.last == ()
    gang.run(6 * WINDOW)
    assert gang.last == (1,)
    gang.now -= 3600
    gang.look()
    assert gang.last == ()
    gang.look(epoch=1)
    assert sure(gang.seen).epoch == 1
    gang.look((0, 1, 2, 3), epoch=1)
    assert gang.seen is None


def test_a_process_of_a_pod_of_several_is_named_by_both_numbers() -> None:
    gang = Gang(0.8, 0.8, 0.8, 0.05)
    gang.member = {rank: rank // 2 for rank in range(4)}
    gang.run(6 * WINDOW)
    seen = sure(gang.seen)
    assert seen.members == (1,)
    assert of_arrivals(seen).startswith("process 3 of rank 1 comes last")
