"""The time since which this daemon receives reports: it may have stopped, or have had no room for a post."""

import pytest

from muster.daemon.experiments.sent import DEAF, LOST, Hearing


class Clocks:
    """A wall clock and a monotonic one."""

    def __init__(self) -> None:
        self.wall, self.monotonic = 1000.0, 5.0
        self.hearing = Hearing(lambda: self.wall, lambda: self.monotonic)

    def pass_(self, seconds: float) -> None:
        self.wall += seconds
        self.monotonic += seconds


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


def test_a_daemon_that_looks_often_has_heard_since_it_began(clocks: Clocks) -> None:
    for _ in range(20):
        clocks.pass_(5.0)
        assert clocks.hearing.since() == 1000.0


def test_a_process_that_stood_still_hears_from_now_on(clocks: Clocks) -> None:
    clocks.pass_(DEAF + 1)
    assert clocks.hearing.since() == clocks.wall
    clocks.pass_(5.0)
    assert clocks.hearing.since() == clocks.wall - 5.0


def test_a_daemon_that_begins_to_lead_hears_from_then_on(clocks: Clocks) -> None:
    clocks.pass_(5.0)
    clocks.hearing.begin()
    assert clocks.hearing.since() == clocks.wall


def test_a_step_of_the_wall_clock_moves_the_time(clocks: Clocks) -> None:
    clocks.wall += 3600
    clocks.hearing.clock_stepped(3600)
    assert clocks.hearing.since() == 4600.0


def test_a_lost_post_concerns_who_sends_from_that_address(clocks: Clocks) -> None:
    clocks.pass_(5.0)
    clocks.hearing.lost("10.0.0.1")
    assert clocks.hearing.since() == 1000.0
    assert clocks.hearing.since(["10.0.0.2"]) == 1000.0
    assert clocks.hearing.since(["10.0.0.2", "10.0.0.1"]) == 1005.0
    clocks.hearing.clock_stepped(50.0)
    assert clocks.hearing.since(["10.0.0.1"]) == 1055.0


def test_a_post_that_may_be_of_any_address_concerns_all(clocks: Clocks) -> None:
    clocks.pass_(5.0)
    clocks.hearing.lost("")
    assert clocks.hearing.since(["10.0.0.2"]) == 1005.0


def test_of_more_addresses_than_are_kept_nobody_is_known_to_be_silent(clocks: Clocks) -> None:
    for number in range(LOST + 1):
        clocks.pass_(0.001)
        clocks.hearing.lost(f"10.{number >> 8}.{number & 255}.1")
    assert clocks.hearing.since(["elsewhere"]) == pytest.approx(1000.001, abs=1e-6)
