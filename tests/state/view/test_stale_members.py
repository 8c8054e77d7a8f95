"""Members that were connected to the life of the coordinator before this one, and run on unknown to it."""

from typing import Any

import pytest

from muster.state.view.roll import CoordinatorState, RankState
from muster.state.view.view import View
from tests.builders import NOW, answer, pod, sure, view

ON, NO, STALE = RankState.CONNECTED, RankState.MISSING, RankState.STALE
HEAD = pod(0)


def seen(*pods: Any) -> View:
    """A view of a head and three workers that are connected to life 1 of the head."""
    return view(HEAD, *pods, heard=answer(ON, ON, ON, ON, incarnation=1))


def roll(of: View) -> tuple[RankState, ...]:
    return sure(of.probe).answer.states


def test_members_of_the_life_before_are_stale_and_missing() -> None:
    of = seen(pod(1), pod(2), pod(3))
    of.observe_probe(answer(ON, NO, NO, ON, incarnation=2, at=NOW + 1), 0)
    assert roll(of) == (ON, STALE, STALE, ON)
    assert of.probe is not None
    assert (of.probe.arrived, of.probe.missing) == (2, (1, 2))
    of.observe_probe(answer(ON, NO, ON, ON, incarnation=2, at=NOW + 2), 0)
    assert roll(of) == (ON, STALE, ON, ON)


def test_a_silence_between_the_two_lives_changes_nothing() -> None:
    of = seen(pod(1), pod(2), pod(3))
    of.observe_probe(answer(coordinator=CoordinatorState.REFUSED, states=(), at=NOW + 1), 0)
    of.observe_probe(answer(ON, NO, NO, NO, incarnation=2, at=NOW + 2), 0)
    assert roll(of) == (ON, STALE, STALE, STALE)


@pytest.mark.parametrize(
    "now", [{"restarts": 1}, {"uid": "another"}, {"terminating": True}, {"waiting_reason": "CrashLoopBackOff"}]
)
def test_a_member_whose_process_is_another_one_or_gone_is_not_stale(now: dict[str, Any]) -> None:
    of = seen(pod(1), pod(2), pod(3))
    of.change(pod(1), pod(1, **now))
    of.observe_probe(answer(ON, NO, ON, ON, incarnation=2, at=NOW + 1), 0)
    assert roll(of)[1] is NO


def test_it_is_stale_until_its_process_is_another_one() -> None:
    of = seen(pod(1), pod(2), pod(3))
    of.observe_probe(answer(ON, NO, ON, ON, incarnation=2, at=NOW + 1), 0)
    of.change(pod(1), pod(1, restarts=1))
    of.observe_probe(answer(ON, NO, ON, ON, incarnation=2, at=NOW + 2), 0)
    assert roll(of)[1] is NO


def test_a_member_that_never_was_connected_is_missing_and_not_stale() -> None:
    of = view(HEAD, pod(1), pod(2), pod(3), heard=answer(ON, NO, ON, ON, incarnation=1))
    of.observe_probe(answer(ON, NO, NO, ON, incarnation=2, at=NOW + 1), 0)
    assert roll(of) == (ON, NO, STALE, ON)


def test_the_same_life_or_one_without_identity_makes_nothing_stale() -> None:
    of = seen(pod(1), pod(2), pod(3))
    of.observe_probe(answer(ON, NO, ON, ON, incarnation=1, at=NOW + 1), 0)
    assert roll(of)[1] is NO
    of.observe_probe(answer(ON, NO, ON, ON, at=NOW + 2), 0)
    assert roll(of)[1] is NO


def test_another_epoch_begins_without_stale_members() -> None:
    of = seen(pod(1), pod(2), pod(3))
    for rank in range(4):
        of.change(None, pod(rank, epoch=1))
    of.observe_probe(answer(ON, NO, NO, NO, incarnation=2, at=NOW + 1), 1)
    assert roll(of) == (ON, NO, NO, NO)


def test_what_a_coordinator_said_is_forgotten_when_its_pods_are_stopped() -> None:
    of = seen(pod(1), pod(2), pod(3))
    of.forget_coordinator()
    assert of.probe_result_of(0) is None
    assert of.of(0).roll == ()
    of.observe_probe(answer(ON, NO, NO, NO, incarnation=2, at=NOW + 1), 0)
    assert roll(of) == (ON, NO, NO, NO)
