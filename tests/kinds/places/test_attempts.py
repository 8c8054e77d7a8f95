"""Attempts that a controller names become epochs, and pods of the attempt before stay the object's own."""

from muster.kinds.declaration import Claim
from muster.kinds.places.attempts import KEPT, Attempts
from muster.state.view.own import OwnState, OwnVerdict

SUBMITTER = Claim("rayjob/rj")


def named(name: str) -> tuple[OwnState, tuple[Claim, ...]]:
    return OwnState(attempt=name), (*((Claim(f"raycluster/{name}"),) if name else ()), SUBMITTER)


def test_an_object_without_named_attempts_is_left_as_it_is() -> None:
    own, claims = OwnState(epoch=4), (Claim("jobset/x"),)
    assert Attempts().follow(own, claims) == (own, claims)


def test_another_name_is_the_next_epoch_and_the_first_is_none() -> None:
    attempts = Attempts()
    assert [attempts.follow(*named(name))[0].epoch for name in ("", "a", "a", "b", "b", "c")] == [0, 0, 0, 1, 1, 2]


def test_a_name_that_is_gone_for_a_moment_changes_nothing() -> None:
    attempts = Attempts()
    attempts.follow(*named("a"))
    own, claims = attempts.follow(*named(""))
    assert own.epoch == 0
    assert set(claims) == {Claim("raycluster/a", epoch=0), Claim("rayjob/rj", epoch=0)}
    assert attempts.follow(*named("a"))[0].epoch == 0


def test_pods_of_the_attempt_before_keep_their_epoch() -> None:
    attempts = Attempts()
    attempts.follow(*named("a"))
    _, claims = attempts.follow(*named("b"))
    assert set(claims) == {Claim("raycluster/a", epoch=0), Claim("raycluster/b", epoch=1), Claim("rayjob/rj", epoch=1)}


def test_claims_of_long_ago_are_dropped() -> None:
    attempts = Attempts()
    for number in range(100):
        _, claims = attempts.follow(*named(f"c{number}"))
    assert len(claims) == KEPT + 2


def test_a_suspended_run_stays_so_until_its_next_attempt_has_a_name() -> None:
    attempts, resuming = Attempts(), named("")
    attempts.follow(*named("a"))
    attempts.follow(OwnState(OwnVerdict.SUSPENDED), (SUBMITTER,))
    assert attempts.follow(*resuming)[0].verdict is OwnVerdict.SUSPENDED
    own, _ = attempts.follow(*named("b"))
    assert (own.verdict, own.epoch) == (OwnVerdict.NOTHING, 1)
    assert attempts.follow(*resuming)[0].verdict is OwnVerdict.NOTHING, "the suspension is over"
