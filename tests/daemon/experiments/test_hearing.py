"""The time since which this daemon receives reports: a post that had no room does not make its sender silent."""

from muster.daemon.experiments.sent import LOST, Hearing


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_lost_post_concerns_who_sends_from_that_address() -> None:
    clock = Clock()
    hearing = Hearing(clock, clock)
    clock.now += 5
    hearing.lost("10.0.0.1")
    assert hearing.since() == 100.0
    assert hearing.since(["10.0.0.2"]) == 100.0
    assert hearing.since(["10.0.0.2", "10.0.0.1"]) == 105.0
    hearing.clock_stepped(50.0)
    assert hearing.since(["10.0.0.1"]) == 155.0


def test_a_post_that_may_be_of_any_address_concerns_all() -> None:
    clock = Clock()
    hearing = Hearing(clock, clock)
    clock.now += 5
    hearing.lost("")
    assert hearing.since(["10.0.0.2"]) == 105.0


def test_of_more_addresses_than_are_kept_nobody_is_known_to_be_silent() -> None:
    clock = Clock()
    hearing = Hearing(clock, clock)
    for number in range(LOST + 1):
        clock.now += 0.001
        hearing.lost(f"10.{number >> 8}.{number & 255}.1")
    assert hearing.since(["elsewhere"]) == 100.001
