"""What one look at a coordinator showed."""

import pytest

from muster.state.view.roll import RankState, RollAnswer, joined
from tests.builders import answer

MISSING, ARRIVED, CONNECTED = RankState.MISSING, RankState.ARRIVED, RankState.CONNECTED
FAILED, LEFT = RankState.FAILED, RankState.LEFT


def test_ranks_are_sorted_by_what_became_of_them() -> None:
    roll = answer(ARRIVED, MISSING, CONNECTED, FAILED, LEFT, MISSING)
    assert roll.arrived == {0, 2, 3, 4}
    assert (roll.missing, roll.left) == ((1, 5), (4,))


@pytest.mark.parametrize(
    ("roll", "passed"),
    [
        (answer(ARRIVED, CONNECTED), True),
        (answer(ARRIVED, FAILED), True),
        (answer(ARRIVED, LEFT), True),
        (answer(), False),
        (answer(ARRIVED, MISSING), False),
        (answer(CONNECTED, partial="this version of jax reports rank 0 only", expected=None), False),
    ],
)
def test_one_rank_beyond_the_rendezvous_proves_it_for_all_unless_the_answer_is_partial(
    roll: RollAnswer, passed: bool
) -> None:
    assert roll.passed is passed


def test_states_by_address_are_joined_to_ranks() -> None:
    roll = answer(ARRIVED, ARRIVED, CONNECTED, identities=("10.0.0.3", "10.9.9.9", "10.0.0.1"), expected=3)
    ranks = {"10.0.0.1": 0, "10.0.0.2": 1, "10.0.0.3": 2}
    assert joined(roll, ranks).states == (CONNECTED, RankState.MISSING, ARRIVED), "a stranger's address has no rank"


def test_a_claimed_number_of_members_is_bounded() -> None:
    roll = answer(ARRIVED, identities=("10.0.0.1",), expected=10**12)
    assert len(joined(roll, {"10.0.0.1": 0}).states) == 100_000
