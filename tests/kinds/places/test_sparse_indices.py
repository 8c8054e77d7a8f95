"""Pods that a scale-down leaves keep their index, which may lie beyond the last place."""

from muster.kinds.declaration import Claim
from muster.kinds.places.membership import WatchedMembership
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.pod import PodSpec
from tests.builders import plan, pod

CLAIMS = {"raycluster/rc": Claim("raycluster/rc", epoch=0)}
TWO = plan(groups=(Group("worker", 1, 2, PodSpec(), 0),))


def seated(*indices: int) -> dict[int, str]:
    """By rank the pod, of pods with these indices."""
    members = WatchedMembership()
    pods = [pod(index, name=f"w{index}", owner="raycluster/rc", created=float(n)) for n, index in enumerate(indices)]
    members.follow(TWO, CLAIMS, pods)
    return {rank: each.name for rank, each in members.view.of(0).members.items()}


def test_a_pod_beyond_the_last_place_takes_a_free_one() -> None:
    assert seated(1, 7) == {1: "w1", 0: "w7"}


def test_a_pod_in_its_place_keeps_it_and_one_too_many_has_none() -> None:
    assert seated(0, 1, 7) == {0: "w0", 1: "w1"}


def test_a_pod_beyond_the_last_place_leaves_the_place_to_the_pod_with_its_index() -> None:
    assert seated(2, 0) == {0: "w0", 1: "w2"}
    assert seated(0, 2, 1) == {0: "w0", 1: "w1"}
    assert seated(2, 1, 0) == {0: "w0", 1: "w1"}
