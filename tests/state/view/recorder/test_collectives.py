"""Who has not entered the collective that the others wait in, by the counts that processes publish."""

import pytest

from muster.state.view.recorder.arrivals import CollectiveReport, GroupCount
from muster.state.view.recorder.collectives import (
    FIRST_SECONDS,
    LOOKS,
    STILL_SECONDS,
    Behind,
    Collectives,
    collectives_in_turns,
)
from muster.state.view.stage import Doing
from muster.state.view.turns import finished
from tests.builders import sure

LOOK = 3.0
WORLD = "0-3"


class Gang:
    """Four processes, each with what it publishes; a look every 3 s."""

    def __init__(self, size: int = 4) -> None:
        self.now = 1000.0
        self.seen: Collectives | None = None
        self.longest = 1.0
        self.life = dict.fromkeys(range(size), 1)
        self.moves = dict.fromkeys(range(size), 0)
        self.still = dict.fromkeys(range(size), 0.0)
        self.beats = dict.fromkeys(range(size), 0)
        self.groups: dict[int, list[GroupCount]] = {rank: [world(100, waits=False)] for rank in range(size)}
        self.member = {rank: rank for rank in range(size)}
        self.pause = 0.0
        self.meets: set[int] = set()

    def run(self, seconds: float, *, moving: tuple[int, ...] = (), silent: tuple[int, ...] = ()) -> None:
        """Time passes; ranks that are ``silent`` write nothing."""
        for _ in range(int(seconds / LOOK)):
            self.now += LOOK
            for rank in self.beats:
                if rank in silent:
                    continue
                self.beats[rank] += 1
                self.still[rank] += LOOK
                if rank in moving:
                    self.moves[rank], self.still[rank] = self.moves[rank] + 1, 0.0
            self.look()

    def look(self) -> None:
        reports = [
            CollectiveReport(
                self.member[rank],
                rank,
                self.life[rank],
                self.beats[rank],
                self.moves[rank],
                self.longest,
                self.still[rank],
                tuple(self.groups[rank]) if self.still[rank] >= 10.0 else None,
                doing=Doing(meets=rank in self.meets),
            )
            for rank in self.beats
        ]
        self.seen = finished(collectives_in_turns(reports, 0, self.now, self.seen, pause=self.pause))

    def stand(self, *counts: int, ranks: str = WORLD) -> None:
        """Each rank has entered so many collectives; those at the top wait."""
        for rank, count in enumerate(counts):
            self.groups[rank] = [world(count, waits=count == max(counts), ranks=ranks)]

    @property
    def behind(self) -> tuple[Behind, ...]:
        return sure(self.seen).behind

    @property
    def named(self) -> list[int]:
        return [late.rank for each in self.behind for late in each.late]


def world(entered: int, *, waits: bool, ranks: str = WORLD) -> GroupCount:
    return GroupCount("0", "default_pg", "gloo", 4, ranks, entered, "all_reduce", waits)


def pair(entered: int, *, waits: bool, ranks: str = "0-1") -> GroupCount:
    return GroupCount("1", "pair", "gloo", 2, ranks, entered, "broadcast", waits)


def at_work() -> Gang:
    gang = Gang()
    gang.run(60, moving=(0, 1, 2, 3))
    assert gang.behind == ()
    return gang


def stood(*counts: int, ranks: str = WORLD) -> Gang:
    """A gang that was at work, and whose ranks now stand at these counts."""
    gang = at_work()
    gang.stand(*counts, ranks=ranks)
    return gang


def test_the_rank_whose_count_is_below_is_behind_once_nothing_has_moved_for_a_while() -> None:
    gang = stood(101, 101, 100, 101)
    gang.run(STILL_SECONDS - LOOK)
    assert gang.named == []
    gang.run(2 * LOOK)
    (found,) = gang.behind
    assert (found.at.words, found.waiting, found.at.size) == ("all_reduce #101 (default_pg)", 3, 4)
    assert [(late.rank, late.entered, late.silent) for late in found.late] == [(2, 100, False)]
    gang.run(LOOK, moving=(2,))
    assert gang.behind == ()


@pytest.mark.parametrize(
    ("counts", "ranks", "silent"),
    [
        ((101, 101, 101, 101), WORLD, ()),
        ((101, 101, -1, 101), WORLD, ()),
        ((101, 101, 100, 101), WORLD, (0, 1, 2, 3)),
        ((101, 101, 101, 101), "#0badcafe", (3,)),
    ],
    ids=["equal counts", "an unknown count", "all are silent", "the ranks of the group are a check sum"],
)
def test_what_proves_of_no_rank_that_it_is_late_names_none(
    counts: tuple[int, ...], ranks: str, silent: tuple[int, ...]
) -> None:
    gang = stood(*counts, ranks=ranks)
    gang.run(600, silent=silent)
    assert gang.behind == ()


def test_a_count_that_nothing_waits_at_proves_nothing() -> None:
    gang = at_work()
    for rank, entered in enumerate((101, 101, 100, 101)):
        gang.groups[rank] = [world(entered, waits=False)]
    gang.run(3600)
    assert gang.behind == ()


@pytest.mark.parametrize("mover", range(4))
def test_a_gap_while_any_rank_moves_is_no_hang(mover: int) -> None:
    gang = stood(101, 101, 100, 101)
    gang.run(3600, moving=(mover,))
    assert gang.behind == ()


def test_a_rank_that_is_in_no_subgroup_is_not_behind_in_it() -> None:
    gang = at_work()
    gang.groups[0].append(pair(7, waits=True))
    gang.groups[1].append(pair(6, waits=False))
    gang.run(60)
    (found,) = gang.behind
    assert (found.at.words, [late.rank for late in found.late]) == ("broadcast #7 (pair)", [1])


def test_a_rank_that_waits_in_a_collective_of_another_group_waits_for_others() -> None:
    gang = stood(101, 101, 100, 100)
    gang.groups[2].append(pair(8, waits=True, ranks="2-3"))
    gang.groups[3].append(pair(7, waits=False, ranks="2-3"))
    gang.run(60)
    assert set(gang.named) == {3}
    assert [each.at.words for each in gang.behind] == ["all_reduce #101 (default_pg)", "broadcast #8 (pair)"]


def test_where_all_wait_for_each_other_all_are_reported_to_wait() -> None:
    gang = Gang(2)
    for rank, entered in enumerate((8, 7)):
        gang.groups[rank] = [GroupCount("1", "a", "gloo", 2, "0-1", entered, "broadcast", waits=rank == 0)]
    for rank, entered in enumerate((5, 6)):
        gang.groups[rank].append(GroupCount("2", "b", "gloo", 2, "0-1", entered, "all_reduce", waits=rank == 1))
    gang.run(90)
    assert [(each.at.words, [(late.rank, late.waits) for late in each.late]) for each in gang.behind] == [
        ("broadcast #8 (a)", [(1, "all_reduce #6")]),
        ("all_reduce #6 (b)", [(0, "broadcast #8")]),
    ]


def one_behind(victim: int) -> Gang:
    """A rank is stopped while an all_reduce ends: one rank waits for it in this one, and two in the next."""
    gang = stood(101, 101, 101, 101)
    gang.groups[(victim + 1) % 4] = [world(100, waits=True)]
    return gang


@pytest.mark.parametrize("victim", range(4))
def test_a_rank_one_behind_that_waits_in_the_collective_itself_waits_for_the_silent_one(victim: int) -> None:
    gang = one_behind(victim)
    gang.run(90, silent=(victim,))
    assert gang.named == [victim]


@pytest.mark.parametrize("victim", range(4))
def test_a_rank_that_waits_is_not_named_before_all_members_of_its_group_are_known(victim: int) -> None:
    """On a busy machine few looks are made: the rank that is stopped has said no count, and is not silent yet."""
    gang = one_behind(victim)
    gang.still[victim] = -1e9
    gang.run(STILL_SECONDS + 4 * LOOK)
    assert gang.named == []
    gang.run(30, silent=(victim,))
    assert gang.named == [victim]


def test_a_rank_that_waits_is_not_named_where_a_member_of_its_group_publishes_nothing() -> None:
    gang = one_behind(2)
    for known in (gang.beats, gang.moves, gang.still):
        del known[2]
    gang.run(600)
    assert gang.named == []


@pytest.mark.parametrize(
    ("counts", "silent", "named"),
    [((101, 101, 100, 100), (3,), 3), ((101, 101, 100, 100), (), 3), ((101, 101, 100, 101), (), 2)],
)
def test_a_rank_in_a_receive_waits_for_the_other_late_one_and_is_named_where_none_is(
    counts: tuple[int, ...], silent: tuple[int, ...], named: int
) -> None:
    """The record of gloo has no sends and receives."""
    gang = stood(*counts)
    gang.meets = {2}
    gang.run(60, silent=silent)
    assert gang.named == [named]


def test_a_silent_rank_is_named_where_others_wait_in_a_group_of_which_it_is_a_member() -> None:
    gang = stood(101, 101, 100, 101)
    gang.groups[2] = []
    gang.run(60, silent=(2,))
    (found,) = gang.behind
    assert [(late.rank, late.silent, late.entered) for late in found.late] == [(2, True, -1)]


def test_a_silent_rank_is_not_named_where_nothing_waits_or_where_it_is_no_member() -> None:
    gang = at_work()
    gang.run(600, silent=(3,))
    assert gang.behind == ()
    gang.groups[0].append(pair(7, waits=True))
    gang.groups[1].append(pair(6, waits=False))
    gang.run(60, silent=(3,))
    assert gang.named == [1]


def test_counts_of_another_life_of_the_process_group_are_not_compared() -> None:
    gang = stood(3, 500, 500, 500)
    gang.life[0] = 2
    gang.groups[0] = [world(3, waits=True)]
    for rank in (1, 2, 3):
        gang.groups[rank] = [world(500, waits=False)]
    gang.run(3600)
    assert gang.behind == ()


def test_groups_of_one_name_and_other_ranks_are_not_compared() -> None:
    gang = at_work()
    for rank, entered in enumerate((9, 9, 4, 4)):
        ranks = "0-1" if rank < 2 else "2-3"
        gang.groups[rank].append(GroupCount("5", "split", "gloo", 2, ranks, entered, "all_reduce", waits=True))
    gang.run(3600)
    assert gang.behind == ()


@pytest.mark.parametrize(
    ("entered", "longest", "pause", "waits"),
    [(101, 60.0, 0.0, 297), (101, 1.0, 900.0, 890), (2, 1.0, 0.0, FIRST_SECONDS - LOOK)],
    ids=["five times as long as one before", "it is announced", "the first collectives, while one rank prepares data"],
)
def test_a_pause_that_is_usual_announced_or_before_the_first_collectives_is_waited_for(
    entered: int, longest: float, pause: float, waits: float
) -> None:
    gang = stood(entered, entered - 1, entered, entered)
    gang.longest, gang.pause = longest, pause
    gang.run(waits)
    assert gang.behind == ()
    gang.run(15)
    assert gang.named == [1]


def test_a_daemon_that_takes_over_knows_after_three_looks_for_how_long_nothing_has_moved() -> None:
    gang = stood(101, 101, 100, 101)
    gang.run(120)
    gang.seen = None
    gang.look()
    assert gang.seen is not None
    assert (gang.behind, gang.seen.unsure) == ((), True)
    gang.run(LOOKS * LOOK)
    assert gang.named == [2]
    assert not gang.seen.unsure


def test_another_epoch_begins_anew_and_a_look_without_values_says_nothing() -> None:
    gang = stood(101, 101, 100, 101)
    gang.run(60)
    assert gang.named == [2]
    assert finished(collectives_in_turns((), 0, gang.now, gang.seen)) is gang.seen
    assert finished(collectives_in_turns((), 1, gang.now, gang.seen)) is None


def test_the_ranks_of_a_group_are_read_only_as_far_as_they_are_asked_for() -> None:
    gang = stood(101, 101, 101, 101, ranks="0-999999999,1000000000-1999999999")
    gang.run(60, silent=(3,))
    assert gang.named == [3]
