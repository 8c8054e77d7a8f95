"""Pods of a Job without indices take the free places, however many they are."""

import pytest

from muster.kinds.places.membership import FreePlaces, WatchedMembership
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.pod import PodSpec
from tests.builders import plan
from tests.kinds.places.conftest import FAILED, life, membership

MANY = 10_000


def of_size(size: int) -> WatchedMembership:
    return membership(of=plan(groups=(Group("worker", 1, size, PodSpec(), 0),)))


def test_ten_thousand_pods_look_at_each_place_a_few_times() -> None:
    looks = 0
    taken = set[int]()

    def free(rank: int) -> bool:
        nonlocal looks
        looks += 1
        return rank not in taken

    places = FreePlaces(range(MANY), free, lambda _rank: False)
    while (rank := places.lowest()) is not None:
        taken.add(rank)
        places.note(rank)
    assert (len(taken), looks < 8 * MANY) == (MANY, True)


@pytest.mark.cpu(20)  # a search through all places for each pod would take minutes
def test_thirty_thousand_pods_without_an_index_are_seated() -> None:
    members = of_size(3 * MANY)
    for number in range(3 * MANY):
        members.change(None, life(f"p{number}", -1))
    assert len(members.view.of(0).members) == 3 * MANY


@pytest.mark.cpu(20)  # a comparison of all of them for each would take a minute
def test_ten_thousand_failed_pods_of_one_place_are_compared_with_its_holder_alone() -> None:
    members = of_size(1)
    for number in range(MANY):
        members.change(None, life(f"p{number}", -1, created=float(number), **FAILED))
    assert members.view.of(0).members[0].name == f"p{MANY - 1}"


@pytest.mark.parametrize(
    ("free", "lost", "taken"), [({2, 3}, {0}, 2), (set(), {1, 3}, 1), (set(), set(), None), ({3}, {0, 1, 2}, 3)]
)
def test_the_lowest_free_place_is_taken_before_the_lowest_lost_one(
    free: set[int], lost: set[int], taken: int | None
) -> None:
    assert FreePlaces(range(4), free.__contains__, lost.__contains__).lowest() == taken


def test_a_place_that_is_freed_or_lost_later_is_found_and_one_that_is_taken_meanwhile_is_not() -> None:
    free, lost = {0, 1}, set[int]()
    places = FreePlaces(range(4), free.__contains__, lost.__contains__)
    free.clear()
    assert places.lowest() is None
    lost.add(2)
    places.note(2)
    assert places.lowest() == 2
    free.add(3)
    places.note(3)
    assert places.lowest() == 3


def test_a_place_that_changes_again_and_again_is_remembered_once() -> None:
    places = FreePlaces(range(2), lambda _rank: True, lambda _rank: False)
    for _ in range(1000):
        places.note(1)
    assert len(places) <= 4 * 2 + 17
