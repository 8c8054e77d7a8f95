"""Where ranks stand: groups, outliers, and when a whole gang is still."""

from itertools import repeat

import pytest

from muster.state.facts.diagnosis.hangs import of_numbers as numbers
from muster.state.facts.diagnosis.hangs import of_places as sentence
from muster.state.view.places import LONGEST, SILENT, STANDS, PlaceReport, Places, places_in_turns
from muster.state.view.progress import Progress
from muster.state.view.turns import finished
from tests.builders import sure

NOW = 1_000.0


def at(rank: int, line: int = 88, stood: float = 60.0, **stated: object) -> PlaceReport:
    """A rank that stands in ``all_reduce``, or at another line."""
    function, file = ("all_reduce", "train.py") if line == 88 else ("next", "data.py")
    usual = {"longest": 1.0, "returns": 3, "function": function, "file": file, "line": line, "stack": str(line)}
    return PlaceReport(rank, 500.0 + stood, 500.0, **(usual | stated))  # type: ignore[arg-type]


def seen(*reports: PlaceReport, size: int | None = None, before: Places | None = None, now: float = NOW) -> Places:
    return sure(finished(places_in_turns(reports, {}, 0, now, before, len(reports) if size is None else size)))


def test_the_largest_group_is_healthy_and_the_others_are_outliers() -> None:
    found = seen(*(at(rank) for rank in range(512) if rank != 37), at(37, 41))
    assert [group.ranks for group in found.outliers] == [(37,)]
    assert sentence(found) == "rank 37 is in next (data.py:41); the other 511 are in all_reduce (train.py:88)"
    assert seen(at(0), at(1), at(2, 41), at(3, 41)).outliers == (), "a tie names none"


APART = [at(rank, 41, function=f"f{rank}") for rank in range(5)]
REDUCE, NEXT = "in all_reduce (train.py:88)", "in next (data.py:41)"
FIRST = "rank 0 is in f0 (data.py:41), rank 1 is in f1 (data.py:41), rank 2 is in f2 (data.py:41)"


@pytest.mark.parametrize(
    ("reports", "words"),
    [
        ([at(0), at(1), at(2, 41), at(3, 41)], f"2 ranks (0-1) are {REDUCE}, 2 ranks (2-3) are {NEXT}"),
        ([at(0), at(1, stack="other")], f"all 2 ranks are {REDUCE}"),
        ([*APART, *map(at, range(5, 15))], f"{FIRST}, 2 are elsewhere; the other 10 are {REDUCE}"),
        ([at(0, 19, function="<module>"), at(1), at(2)], f"rank 0 is at data.py:19; the other 2 are {REDUCE}"),
        ([at(0, 41), at(1, 41), *map(at, range(2, 6))], f"2 ranks (0-1) are {NEXT}; the other 4 are {REDUCE}"),
    ],
    ids=["a tie", "one line with two stacks", "many groups", "outside of functions", "several at one place"],
)
def test_places_are_named_in_one_sentence(reports: list[PlaceReport], words: str) -> None:
    assert sentence(seen(*reports)) == words


def test_ranks_that_joined_with_another_number_of_processes_are_named() -> None:
    assert numbers(seen(*(at(rank, processes=4) for rank in range(3)), at(3)), 4) == ""
    found = seen(at(0, processes=4), at(1, processes=3), at(2, processes=4), at(3, processes=4))
    assert numbers(found, 4) == "rank 1 joined with 3 processes; the coordinator has 4"
    assert found.news != seen(*(at(rank, processes=4) for rank in range(4))).news
    many = seen(*(at(rank, processes=number) for rank, number in enumerate((8, 9, 9, 2, 7, 6, 5, 8))), size=8)
    assert numbers(many, 8) == (
        "2 ranks (1-2) joined with 9 processes, rank 3 joined with 2 processes, rank 4 joined with 7 processes, "
        "2 ranks with other numbers; the coordinator has 8"
    )


def test_equal_stacks_say_that_python_does_not_show_it_and_are_no_standstill() -> None:
    found = seen(*map(at, range(4)))
    assert (found.outliers, found.still_since, found.equal) == ((), None, True)
    assert sentence(found) == (
        "all 4 ranks are in all_reduce (train.py:88), with equal stacks: the cause is below Python, or the same in all"
    )


def test_a_gang_is_still_once_every_rank_has_stood_for_long_enough() -> None:
    assert seen(at(0, stood=STANDS), at(1), at(2, 41)).still_since == NOW - STANDS
    assert seen(at(0, stood=STANDS - 1), at(1), at(2, 41)).still_since is None


def test_since_when_it_is_still_does_not_change_with_later_looks() -> None:
    first = seen(at(0), at(1), at(2, 41))
    later = seen(at(0, stood=66.3), at(1, stood=65.9), at(2, 41, stood=66.0), before=first, now=NOW + 5)
    assert later.still_since == first.still_since == NOW - 60


@pytest.mark.parametrize("longest", [20.0, 300.0])
def test_a_gang_that_stood_long_before_is_given_five_times_as_long(longest: float) -> None:
    def found(stood: float) -> Places:
        return seen(at(0, stood=stood), at(1, stood=stood, longest=longest), at(2, 41, stood=stood))

    assert found(5 * longest - 1).still_since is None
    assert found(5 * longest).still_since is not None


def test_a_claim_of_a_longer_standing_than_six_hours_is_not_believed() -> None:
    assert seen(at(0, stood=5 * LONGEST, longest=1e300), at(1, stood=5 * LONGEST), at(2, 41, stood=1e9)).still_since


def test_a_gang_whose_start_is_not_over_is_never_still() -> None:
    assert seen(at(0), at(1), at(2, 41, returns=2)).still_since is None


def test_a_gang_of_which_a_rank_has_never_said_where_it_is_is_not_still() -> None:
    assert seen(at(0), at(1), at(2, 41), size=4).still_since is None


def test_a_rank_whose_value_does_not_change_gives_no_answer_and_is_named() -> None:
    first = seen(at(0, stood=15), at(1, stood=15), at(2, 41, stood=0.0), now=NOW)
    later = seen(
        at(0, stood=15 + SILENT), at(1, stood=15 + SILENT), at(2, 41, stood=0.0), before=first, now=NOW + SILENT
    )
    assert later.still_since == NOW - 15
    assert sentence(later) == f"rank 2 does not respond (last seen {NEXT}); the other 2 are {REDUCE}"


def test_where_most_ranks_give_no_answer_nothing_is_reported() -> None:
    """Their coordinator takes no values."""
    first = seen(*map(at, range(4)))
    later = seen(at(0, stood=100), *map(at, range(1, 4)), before=first, now=NOW + 40)
    assert (later.still_since, later.outliers) == (None, ())


def test_reports_of_steps_and_announced_pauses_say_that_a_gang_gets_on() -> None:
    def found(silent: float, **stated: float) -> float | None:
        progress = Progress(0, NOW, NOW - silent, repeated=True, **stated)  # type: ignore[arg-type]
        return sure(finished(places_in_turns((at(0), at(1), at(2, 41)), {}, 0, NOW, None, 3, progress))).still_since

    assert found(STANDS) is not None
    assert found(STANDS - 1) is None
    assert found(99, longest=20.0) is None
    assert found(599, pause=600.0) is None


def test_another_epoch_begins_without_places() -> None:
    first = seen(at(0), at(1), at(2, 41))
    assert finished(places_in_turns((), {}, 1, NOW, first, 3)) is None
    assert finished(places_in_turns((), {}, 0, NOW, first, 3)) is first


def test_ten_thousand_ranks_make_a_short_sentence() -> None:
    found = seen(*(at(rank, 41 if rank % 3 == 0 else 88) for rank in range(10_000)))
    assert len(sentence(found)) < 200
    assert len(list(zip(found.outliers, repeat(0), strict=False))) == 1
