"""The sums of the goodput add up at every second, and none of them ever falls."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from muster.api.goodput import BADPUT, Bucket, Goodput
from tests.builders import NOW

SECONDS = st.lists(st.floats(0, 10**5), max_size=20)


@given(SECONDS, st.lists(st.sampled_from(Bucket), min_size=20, max_size=20), st.floats(0, 1))
def test_the_wall_time_is_every_millisecond_that_has_passed_however_often_it_is_counted(
    passes: list[float], buckets: list[Bucket], fraction: float
) -> None:
    begun = round((NOW + fraction) * 10**6)
    sums, now = Goodput(counted_at=begun / 10**6, bucket=Bucket.SCHEDULING), begun / 10**6
    for passed, bucket in zip(passes, buckets, strict=False):
        now += passed
        seen = sums.at(now)
        assert seen.wall == (round(now * 10**6) - begun) // 1000
        assert seen.net + sum(seen.of(each) for each in BADPUT) == seen.wall
        assert all(seen.of(each) >= sums.of(each) for each in Bucket)
        sums = replace(seen, bucket=bucket)


def test_what_is_taken_back_moves_between_buckets_and_lowers_no_sum() -> None:
    before = Goodput(counted_at=NOW, bucket=Bucket.PRODUCTIVE, productive=10_000)
    after = before.taken(Bucket.LOST, 4_000)
    assert (after.productive, after.taken_back, after.lost) == (10_000, 4_000, 4_000)
    assert (after.net, after.wall) == (6_000, before.wall)
    assert before.taken(Bucket.LOST, -1) is before


def test_suspended_time_is_counted_nowhere() -> None:
    assert Goodput(counted_at=NOW).at(NOW + 50).wall == 0


def test_a_bucket_of_a_newer_version_counts_as_other() -> None:
    assert Goodput(counted_at=NOW, bucket="resizing").at(NOW + 5).other == 5_000


def test_a_clock_that_was_set_back_counts_nothing() -> None:
    assert Goodput(counted_at=NOW, bucket=Bucket.PRODUCTIVE).at(NOW - 5).wall == 0
