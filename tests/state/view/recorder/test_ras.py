"""Who has not started the collective that the others wait in, by several answers of NCCL's RAS."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from muster.state.view.recorder.collectives import (
    FIRST_SECONDS,
    STILL_SECONDS,
    Behind,
    Collectives,
    collectives_in_turns,
)
from muster.state.view.recorder.ras import KEEPS_UP, RasSeen, ras_in_turns
from muster.state.view.turns import finished
from muster.watchers.probes.nccl import decoded_in_turns
from tests.builders import sure
from tests.fakes.ras import communicator, gang, missing_rank, rank_of, status

LOOK = 6.0
HOSTS = [f"10.0.0.{rank + 1}" for rank in range(4)]


class Gang:
    """Four pods with a GPU each, and what RAS says of them; a look every 6 s."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.rank_of = {host: rank for rank, host in enumerate(HOSTS)}
        self.ras: RasSeen | None = None
        self.seen: Collectives | None = None

    def look(self, answer: dict[str, Any]) -> tuple[Behind, ...]:
        """One answer; who is behind after it."""
        self.now += LOOK
        self.ras = finished(
            ras_in_turns(finished(decoded_in_turns(json.dumps(answer).encode())), 0, self.now, self.rank_of, self.ras)
        )
        self.seen = finished(collectives_in_turns(self.ras.reports, 0, self.now, self.seen))
        return self.seen.behind if self.seen else ()

    def rest(self, answer: dict[str, Any], seconds: float = STILL_SECONDS + 2 * LOOK) -> tuple[Behind, ...]:
        """The same answer for so long."""
        behind: tuple[Behind, ...] = ()
        for _ in range(int(seconds / LOOK)):
            behind = self.look(answer)
        return behind

    def step(self, times: int = 5) -> None:
        """All ranks go on."""
        for number in range(times):
            assert self.look(gang([90 + number] * 4)) == ()


def stepping() -> Gang:
    found = Gang()
    found.step()
    return found


LATE = gang([101, 101, 100, 101])
"""Rank 2 has started one collective less than the others."""


def ranks_of(*counts: dict[str, int]) -> list[dict[str, Any]]:
    return [rank_of(rank, host, counts[rank]) for rank, host in enumerate(HOSTS)]


def named(behind: Sequence[Behind]) -> list[tuple[int, int, bool]]:
    """Rank, what it has started, and whether it does not answer."""
    return [(late.member, late.entered, late.silent) for each in behind for late in each.late]


def test_the_rank_that_has_started_fewer_is_behind_once_nothing_moves() -> None:
    story = stepping()
    assert story.rest(LATE, STILL_SECONDS - LOOK) == ()
    (found,) = story.rest(LATE, 4 * LOOK)
    assert named([found]) == [(2, 100, False)]
    assert (found.at.words, found.waiting, found.at.size) == ("AllReduce #101 (communicator 0xae94423cfbb2ef00)", 3, 4)
    assert found.at.asked


def behind(**changes: Any) -> list[dict[str, Any]]:
    """All ranks, where rank 2 is late and rank 3 is changed so."""
    ranks = ranks_of(*({"AllReduce": 101 - (rank == 2)} for rank in range(4)))
    ranks[3] |= changes
    return ranks


def of_root(kind: str) -> dict[str, Any]:
    """Rank 2 has left a collective of that kind alone."""
    return status(communicator(ranks_of(*({"AllReduce": 101, kind: 9 - (rank == 2)} for rank in range(4)))))


def in_life(**life: Any) -> dict[str, Any]:
    """The communicator begins or ends, as one of its ranks shows."""
    return status(communicator(behind(status=behind()[3]["status"] | life)))


PROVES_NOTHING = {
    "no rank is late": gang((101, 101, 101, 101)),
    "half of all are late": gang((101, 100, 100, 101)),
    "most are late": gang((100, 100, 100, 101)),
    "a root may leave its broadcast": of_root("Broadcast"),
    "a root may leave its reduce": of_root("Reduce"),
    "a rank of another communicator does not answer": status(
        LATE["communicators"][0], communicator([rank_of(0, HOSTS[1], {})], [missing_rank(1, HOSTS[2])], number=7)
    ),
    "it ends": in_life(finalize_called=True),
    "it has failed": in_life(async_error=6),
    "it begins": in_life(init_state=7),
    "an address of no pod": gang([101, 101, 100, 101], [*HOSTS[:3], "192.168.0.9"]),
    "an unknown address": gang([101, 101, 100, 101], [*HOSTS[:3], "unknown"]),
    "two processes on one GPU": status(communicator(behind(host=HOSTS[2], pid=7))),
    "two processes on one GPU, of two communicators": status(
        LATE["communicators"][0], communicator([rank_of(0, HOSTS[2], {}) | {"pid": 7}], number=3)
    ),
}


@pytest.mark.parametrize("answer", PROVES_NOTHING.values(), ids=PROVES_NOTHING.keys())
def test_what_proves_of_no_rank_that_it_is_late_names_none(answer: dict[str, Any]) -> None:
    assert stepping().rest(answer, 3 * FIRST_SECONDS) == ()


def test_a_gap_while_anything_moves_proves_nothing() -> None:
    story = stepping()
    for number in range(60):
        assert story.look(gang([101 + number, 101 + number, 100 + number, 101 + number])) == ()


def always_below() -> Gang:
    """Rank 2 is below the others in each look."""
    found = Gang()
    for number in range(5):
        found.look(gang([91 + number, 91 + number, 50 + number, 91 + number]))
    return found


@pytest.mark.parametrize("count", [100, 90, 0])
def test_a_rank_that_was_always_below_while_the_others_went_on_is_not_late(count: int) -> None:
    assert always_below().rest(gang([101, 101, count, 101]), FIRST_SECONDS) == ()


def test_one_that_was_below_since_the_first_collective_is_not_late() -> None:
    story = Gang()
    story.look(gang([0] * 4))
    for number in range(KEEPS_UP):
        story.look(gang([91 + number, 91 + number, number, 91 + number]))
    assert story.rest(gang([101, 101, 11, 101]), FIRST_SECONDS) == ()


def test_one_that_has_kept_up_and_is_below_since_then_is_not_late() -> None:
    story = stepping()
    for number in range(KEEPS_UP + 1):
        story.look(gang([100 + number, 100 + number, 94, 100 + number]))
    assert story.rest(gang([107, 107, 94, 107]), FIRST_SECONDS) == ()


def test_what_a_daemon_has_not_seen_to_move_names_none() -> None:
    story = Gang()
    assert story.rest(LATE, FIRST_SECONDS) == ()
    assert sure(story.seen).unsure


def test_ranks_that_have_started_more_ahead_than_others_wait_as_they_do() -> None:
    (found,) = stepping().rest(gang([105, 103, 100, 101]))
    assert named([found]) == [(2, 100, False)]
    assert (found.at.words, found.waiting) == ("AllReduce #101 (communicator 0xae94423cfbb2ef00)", 3)


def test_a_rank_does_not_keep_up_where_those_above_it_do_not_answer() -> None:
    story = always_below()
    story.look(gang([-1, -1, 55, -1]))
    story.look(gang([97, 97, 56, 97]))
    assert story.rest(gang([101, 101, 60, 101]), FIRST_SECONDS) == ()


def test_one_that_does_not_start_the_first_is_late() -> None:
    story = Gang()
    story.look(gang([0] * 4))
    assert named(story.rest(gang([1, 1, 0, 1]), FIRST_SECONDS + 2 * LOOK)) == [(2, 0, False)]


def test_one_that_was_below_now_and_then_is_late() -> None:
    story = stepping()
    story.look(gang([100, 100, 99, 100]))
    story.look(gang([101, 101, 101, 101]))
    assert named(story.rest(gang([102, 102, 101, 102]))) == [(2, 101, False)]


def test_a_broadcast_is_a_move() -> None:
    story = stepping()
    for number in range(60):
        counts = [{"AllReduce": 101 - (rank == 2), "Broadcast": number * (rank == 0)} for rank in range(4)]
        assert story.look(status(communicator(ranks_of(*counts)))) == ()


def test_ranks_in_different_collectives_of_one_communicator_wait_for_each_other() -> None:
    story = stepping()
    counts = [{"AllReduce": 101 - (rank == 2), "AllGather": 30 + (rank == 2)} for rank in range(4)]
    reduce, gather = story.rest(status(communicator(ranks_of(*counts))))
    assert named([reduce]) == [(2, 100, False)]
    assert reduce.late[0].waits == "AllGather #31 (communicator 0xae94423cfbb2ef00)"
    assert [late.member for late in gather.late] == [0, 1, 3]


def test_a_rank_that_waits_in_another_communicator_is_no_culprit() -> None:
    story = Gang()

    def answer(world: Sequence[int], pair: Sequence[int]) -> dict[str, Any]:
        ranks = [rank_of(place, HOSTS[1 + place], {"AllReduce": count}) for place, count in enumerate(pair)]
        return status(gang(world)["communicators"][0], communicator(ranks, number=7))

    for number in range(5):
        story.look(answer([90 + number] * 4, [40 + number] * 2))
    (found, other) = story.rest(answer([101, 100, 100, 101], [51, 50]))
    assert {late.member for each in (found, other) for late in each.late} == {2}


@pytest.mark.parametrize(
    "reach", [{"unresponsive": True}, {"unresponsive": False, "dead": True}, {"unresponsive": False}]
)
def test_where_any_rank_does_not_answer_none_is_named(reach: dict[str, bool]) -> None:
    story = stepping()
    story.look(gang([100] * 4))
    there = [rank_of(rank, HOSTS[rank], {"AllReduce": 100 + (rank != 1)}) for rank in (0, 1, 3)]
    for missing in ([], [missing_rank(2, HOSTS[2], **reach)]):
        answer = status(communicator(there, missing))
        answer["communicators"][0]["size"] = 4
        assert story.rest(answer, FIRST_SECONDS) == ()


def test_it_moves_all_the_same() -> None:
    story = stepping()
    for number in range(60):
        ends = [rank_of(rank, host, {"AllReduce": number}, abort_flag=True) for rank, host in enumerate(HOSTS)]
        answer = status(LATE["communicators"][0], communicator(ends, number=9))
        assert story.look(answer) == ()


def test_a_pause_is_as_long_as_five_of_those_before() -> None:
    story = stepping()
    story.rest(gang([100] * 4), 30.0)
    story.look(gang([101] * 4))
    assert story.rest(gang([102, 102, 101, 102]), 5 * 30.0 - LOOK) == ()
    assert named(story.rest(gang([102, 102, 101, 102]), 4 * LOOK)) == [(2, 101, False)]


def test_looks_that_were_late_are_no_pause() -> None:
    story = stepping()
    story.now += 600.0
    story.look(gang([100] * 4))
    assert named(story.rest(LATE, STILL_SECONDS + 3 * LOOK)) == [(2, 100, False)]


def test_a_new_communicator_is_a_move() -> None:
    story = stepping()
    hung = LATE["communicators"][0]
    assert story.rest(status(hung), STILL_SECONDS - LOOK) == ()
    other = communicator([rank_of(0, HOSTS[0], {})], number=3)
    assert story.rest(status(hung, other), STILL_SECONDS - LOOK) == ()


def test_another_epoch_begins_anew() -> None:
    story = stepping()
    story.rest(LATE)
    answer = finished(decoded_in_turns(json.dumps(LATE).encode()))
    after = finished(ras_in_turns(answer, 1, story.now, story.rank_of, story.ras))
    assert (after.epoch, after.looks, after.longest) == (1, 1, 0.0)


def test_what_is_known_does_not_grow_with_ranks_that_come_and_go() -> None:
    story = Gang()
    for number in range(50):
        ranks = [rank_of(number * 10 + each, HOSTS[0], {}, device=each) for each in range(10)]
        answer = status(communicator(ranks))
        answer["communicators"][0]["size"] = 800_000
        story.look(answer)
    (known,) = sure(story.ras).communicators.values()
    assert len(known.counts) == 10


def test_an_answer_without_a_communicator_has_no_report() -> None:
    story = stepping()
    story.look(status())
    assert sure(story.ras).reports == ()
