"""What one look at a coordinator showed."""

import pytest

from muster.state.roll import CoordinatorState, RankState, RollAnswer
from tests.builders import NOW, answer

MISSING, ARRIVED, CONNECTED = RankState.MISSING, RankState.ARRIVED, RankState.CONNECTED
FAILED, LEFT = RankState.FAILED, RankState.LEFT


def test_ranks_are_sorted_by_what_became_of_them() -> None:
    said = answer(ARRIVED, MISSING, CONNECTED, FAILED, LEFT, MISSING)
    assert said.arrived == {0, 2, 3, 4}
    assert (said.missing, said.failed, said.left) == ((1, 5), (3,), (4,))


@pytest.mark.parametrize("state", [CONNECTED, FAILED, LEFT])
def test_one_rank_beyond_the_rendezvous_proves_it_for_all(state: RankState) -> None:
    assert answer(ARRIVED, state).passed


@pytest.mark.parametrize("ranks", [(), (ARRIVED,), (ARRIVED, MISSING)])
def test_waiting_ranks_prove_nothing(ranks: tuple[RankState, ...]) -> None:
    assert not answer(*ranks).passed


def test_where_only_rank_zero_is_told_the_rendezvous_is_never_claimed() -> None:
    said = answer(CONNECTED, protocol="v1-task0", expected=None)
    assert said.rank_zero_only
    assert not said.passed
    assert not answer(CONNECTED, protocol="v1-job").rank_zero_only


@pytest.mark.parametrize("state", list(CoordinatorState))
def test_only_an_answer_is_serving(state: CoordinatorState) -> None:
    assert state.serving is (state.value == "serving")


def test_nobody_home_is_an_empty_roll() -> None:
    said = RollAnswer(at=NOW, coordinator=CoordinatorState.REFUSED)
    assert (said.arrived, said.missing, said.failed, said.left, said.passed) == (frozenset(), (), (), (), False)
