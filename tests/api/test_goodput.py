"""The sums of the goodput add up at every second, and none of them ever falls."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from muster.api.goodput import BADPUT, LEAST_SPANS, Bucket, Goodput, StepMark, StepTime, step_time
from tests.builders import NOW, sure

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


def marks(*spans: tuple[int, int]) -> list[StepMark]:
    """Marks that are so many steps and milliseconds apart."""
    found = [StepMark(10, 5_000)]
    for steps, ms in spans:
        found.append(StepMark(found[-1].step + steps, found[-1].ms + ms))
    return found


def test_a_stall_is_what_steps_took_beyond_the_usual_one() -> None:
    steady = [(50, 25_000), (10, 5_000), (30, 15_000)]
    assert step_time(marks(*steady, (1, 40_500), *steady)) == StepTime(500.0, 40_000)
    assert step_time(marks(*steady, *steady)) == StepTime(500.0, 0)
    assert step_time(marks((90, 45_000), (10, 20_000), (1, 500), (10, 1_000))) == StepTime(500.0, 15_000)


def test_few_marks_tell_no_usual_step() -> None:
    assert step_time([]) is None
    assert step_time(marks(*[(1, 500)] * (LEAST_SPANS - 1))) is None
    assert step_time([StepMark(1, 0), *[StepMark(2, 9)] * 9]) is None


@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(0, 10**9)), min_size=LEAST_SPANS, max_size=23))
def test_the_deviation_is_a_part_of_the_time_of_the_steps(spans: list[tuple[int, int]]) -> None:
    found = sure(step_time(marks(*spans)))
    assert 0 <= found.beyond <= sum(ms for _, ms in spans)
