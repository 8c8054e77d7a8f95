"""From a task list to the roll, and the answer that policies read."""

from sys import getrefcount

import pytest

from muster.state.view.roll import CoordinatorState, RankError, RankState, RollAnswer
from muster.state.view.turns import finished
from muster.watchers.probes.jax.rpc import Generation, Malformed, bytes_field, fixed64_field, integer_field
from muster.watchers.probes.jax.task_list import MAX_ERRORS, MAX_TASKS, RollReader, TaskReading, most_tasks, summary

M, A, C, F, L = RankState.MISSING, RankState.ARRIVED, RankState.CONNECTED, RankState.FAILED, RankState.LEFT
DISCONNECTED, CONNECTED, ERROR = 2, 3, 4


def task(rank: int, state: int = DISCONNECTED, incarnation: int = 0, text: bytes = b"") -> bytes:
    body = integer_field(1, rank) + integer_field(2, state) + fixed64_field(6, incarnation)
    return bytes_field(1, body + (integer_field(3, 13) + bytes_field(4, text) if text else b""))


def listed(*tasks: bytes, version: int = 1) -> bytes:
    return b"".join(tasks) + integer_field(2, version)


def reading_of(reader: RollReader, body: bytes, generation: Generation) -> TaskReading:
    return finished(reader.read_in_turns(body, generation))


def read(reader: RollReader, *tasks: bytes) -> tuple[RankState, ...]:
    return reading_of(reader, listed(*tasks), Generation.V2).ranks


def test_a_roll_from_the_first_arrival_to_the_end() -> None:
    reader = RollReader(5)
    assert read(reader, task(1), task(0, incarnation=10)) == (A, M)
    # While the barrier passes, one rank is connected and the other not yet: it has not left, it was never connected.
    assert read(reader, task(0, CONNECTED, 10), task(1, incarnation=11)) == (C, A)
    assert read(reader, task(0, CONNECTED, 10), task(1, CONNECTED, 11)) == (C, C)
    assert read(reader, task(0, CONNECTED, 10), task(1, incarnation=11)) == (C, L)
    assert read(reader, task(0, incarnation=10), task(1, incarnation=11)) == (L, L)


def test_a_recovered_rank_has_not_left() -> None:
    reader = RollReader(5)
    read(reader, task(0, CONNECTED, 10), task(1, CONNECTED, 11))
    assert read(reader, task(0, CONNECTED, 10), task(1, ERROR, 11)) == (C, F)
    assert read(reader, task(0, CONNECTED, 10), task(1, DISCONNECTED, 12)) == (C, A)


def test_an_unknown_state_is_read_as_missing() -> None:
    assert read(RollReader(5), task(0, 9, 10), task(1, 0), task(2, 1)) == (M, M, M)


def test_a_huge_rank_makes_no_long_list() -> None:
    reading = reading_of(RollReader(5), listed(task(0, CONNECTED, 1), task(900_000, CONNECTED, 2)), Generation.V2)
    assert reading.ranks == (C, M)
    assert "1 entries with an impossible rank were dropped" in summary(reading, 2)


def test_the_version_is_kept_only_with_an_incarnation() -> None:
    reader, old = RollReader(5), RollReader()
    reading_of(reader, listed(task(0), version=3), Generation.V2)
    reading_of(old, listed(task(0), version=3), Generation.V1_WATCH)
    assert reader.seen is not None
    assert (reader.seen.incarnation, reader.seen.version) == (5, 3)
    assert old.seen is None


def test_the_one_different_error_is_among_those_kept() -> None:
    tasks = [task(rank, ERROR, 1, b"another task failed") for rank in range(500)]
    tasks[400] = task(400, ERROR, 1, b"\x1b[2J\xed\xa0\x80 heartbeat timeout" + b"x" * 5000)
    reading = reading_of(RollReader(5), listed(*tasks), Generation.V2)
    assert len(reading.errors) == MAX_ERRORS
    first, different = reading.errors[:2]
    assert first == RankError(0, 13, "another task failed")
    assert (different.rank, len(different.text), different.text.isprintable()) == (400, 1000, True)


def test_the_oldest_protocol_lists_rank_zero_only() -> None:
    reader = RollReader()
    v1 = bytes_field(1, bytes_field(1, integer_field(2, 0)) + integer_field(2, CONNECTED))
    reading = reading_of(reader, v1, Generation.V1_RANK_ZERO)
    assert (reading.ranks, reading.expected) == ((C,), None)
    assert "does not report the other ranks" in summary(reading, 4)


def test_an_empty_list_means_that_no_rank_has_arrived() -> None:
    reading = reading_of(RollReader(5), b"", Generation.V2)
    assert (reading.ranks, reading.expected) == ((), 0)
    assert reading_of(RollReader(), b"", Generation.V1_RANK_ZERO).ranks == (M,)


def test_the_summary_names_missing_ranks_and_a_wrong_count() -> None:
    tasks = [task(rank, incarnation=int(rank < 2)) for rank in range(12)]
    line = summary(reading_of(RollReader(5), listed(*tasks), Generation.V2), 16)
    assert line == (
        "2/12 ranks arrived; missing ranks 2, 3, 4, 5, 6, 7, 8, 9 and 2 more; "
        "process count mismatch: process 0 was started with 12, the experiment has 16"
    )


def answer(*ranks: RankState, partial: str = "") -> RollAnswer:
    return RollAnswer(at=0.0, coordinator=CoordinatorState.SERVING, states=ranks, partial=partial)


def test_an_answer_lists_ranks_by_state() -> None:
    one = answer(A, M, C, F, L)
    assert one.coordinator.serving
    assert one.arrived == {0, 2, 3, 4}
    assert (one.missing, one.left) == ((1,), (4,))


@pytest.mark.parametrize(
    ("ranks", "passed"), [((), False), ((A, M), False), ((A, A), False), ((C, A), True), ((F, F), True), ((L, L), True)]
)
def test_one_rank_beyond_the_rendezvous_proves_that_it_has_passed(ranks: tuple[RankState, ...], passed: bool) -> None:
    assert answer(*ranks).passed is passed
    assert not answer(*ranks, partial="this version of jax reports rank 0 only").passed


def test_the_last_answer_is_remembered_by_its_digest_and_not_kept() -> None:
    reader, body = RollReader(5), listed(task(0, CONNECTED, 1, b"x" * 100_000))
    references = getrefcount(body)
    first = reading_of(reader, body, Generation.V2)
    assert getrefcount(body) == references
    assert reading_of(reader, bytes(bytearray(body)), Generation.V2) is first
    assert reading_of(reader, listed(task(0, CONNECTED, 1), version=2), Generation.V2) is not first


def test_a_list_is_as_long_as_the_gang_may_make_it() -> None:
    reader = RollReader(5, most=most_tasks(8))
    reading_of(reader, listed(*(task(rank) for rank in range(8))), Generation.V2)
    assert len(reading_of(reader, listed(*(task(rank) for rank in range(500))), Generation.V2).ranks) == 500
    with pytest.raises(Malformed, match="more than 528 entries"):
        reading_of(reader, listed(*(task(rank) for rank in range(600))), Generation.V2)
    assert most_tasks(None) == most_tasks(16_384) == MAX_TASKS
