"""The write budget: six in a row, then five a minute."""

from muster.state.view.turns import BURST, REFILL, WriteBudget
from muster.state.view.view import View
from tests.builders import NOW


def writes(seconds: float, step: float = 1.0, budget: WriteBudget | None = None, begin: float = NOW) -> int:
    """How many writes are made by one who would write at every step."""
    budget, now, made = budget or WriteBudget(), begin, 0
    while now < begin + seconds:
        if budget.free_at(now) <= now:
            budget.spend(now)
            made += 1
        now += step
    return made


def test_six_writes_in_a_row_are_free_and_then_one_every_twelve_seconds() -> None:
    assert (BURST, REFILL) == (6, 12.0)
    assert writes(1.0, 0.1) == 6
    assert writes(60.0) == 10
    assert writes(600.0) == 55


def test_it_is_full_again_after_a_minute_and_never_fuller() -> None:
    budget = WriteBudget()
    writes(60.0, budget=budget)
    assert writes(1.0, 0.1, budget, NOW + 60 + BURST * REFILL) == BURST
    assert writes(1.0, 0.1, budget, NOW + 1e6) == BURST


def test_a_clock_that_was_set_back_stops_no_write() -> None:
    budget = WriteBudget()
    writes(60.0, budget=budget)
    assert writes(600.0, budget=budget, begin=NOW - 86400) == 55


def test_a_wall_clock_that_is_set_back_costs_no_write() -> None:
    """Without it the bucket would have been full an hour from now, and until then each write is 12 s away."""
    seen = View()
    seen.writes.spend(NOW)
    seen.clock_stepped(-3600.0)
    assert seen.writes.free_at(NOW - 3600.0) == NOW - 3600.0
