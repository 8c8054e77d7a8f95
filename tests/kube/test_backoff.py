"""The back-off: delays double up to a limit, are spread, and start again after a quiet time."""

from random import Random

from muster.kube.workqueue import Backoff


def test_delays_double_up_to_the_longest() -> None:
    backoff = Backoff(first=0.05, longest=60.0)
    assert [backoff.delay() for _ in range(12)][-4:] == [12.8, 25.6, 51.2, 60.0]
    assert [backoff.delay() for _ in range(2000)][-1] == 60.0


def test_random_spreads_a_delay_over_its_upper_half() -> None:
    backoff = Backoff(0.8, 30.0, Random(1))
    waits = [backoff.delay(float(number)) for number in range(100)]
    assert 0.4 <= waits[0] <= 0.8
    assert all(15.0 <= wait <= 30.0 for wait in waits[6:])
    assert len(set(waits[6:])) > 50


def test_a_quiet_time_or_a_reset_starts_again_from_the_first() -> None:
    backoff = Backoff(1.0, 30.0, reset_after=120.0)
    assert [backoff.delay(now) for now in (0.0, 10.0, 20.0)] == [1.0, 2.0, 4.0]
    assert backoff.delay(141.0) == 1.0
    assert backoff.delay(142.0) == 2.0
    backoff.reset()
    assert backoff.delay(143.0) == 1.0
