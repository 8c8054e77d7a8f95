"""The grid of ranks: it shows the rank that a cause names."""

from muster.daemon.web.page.drawings import grid
from muster.rollcall.seats import Bench, Seat, Standing
from tests.builders import worker_group


def test_a_rank_that_looks_well_and_hangs_is_marked() -> None:
    seats = [Seat(rank, Standing.ARRIVED, False, f"run-worker-0-{rank}", "a") for rank in range(3)]
    html = grid([Bench(worker_group(3), seats)], 3, frozenset(), {2: "Hung"}).html
    assert 'class="bad" title="rank 2 Hung, run-worker-0-2 on a">H</b>' in html
    assert html.count('class="ok" title="rank ') == 2
