"""A group that is scaled up and down: as many pods at work as the plan wants are in all of its places."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from muster.kinds.places.membership import WatchedMembership
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod, PodSpec
from tests.builders import plan
from tests.kinds.places.conftest import CLAIMS, FAILED, HEAD, life, membership, names

MOST = 6
"""Replicas of the group."""


class Cluster:
    """KubeRay and a group of ``replicas`` times ``hosts`` pods, beside a membership that follows each change.

    A new replica has the lowest index that no pod has; replicas that are left keep theirs.
    """

    def __init__(self, hosts: int) -> None:
        self.hosts = hosts
        self.members = WatchedMembership()
        self.pods: dict[str, Pod] = {}
        self._made = 0
        self.scale(2)

    @property
    def plan(self) -> Plan:
        if self.hosts == 1:
            return plan(groups=(HEAD, Group("w", 1, self.size, PodSpec(), 1)))
        return plan(groups=(HEAD, Group("w", self.size, self.hosts, PodSpec(), 1, sparse=True)))

    def scale(self, size: int) -> None:
        self.size = size
        self.members.follow(self.plan, CLAIMS, self.pods.values())

    def take_over(self) -> None:
        """Another daemon begins to lead."""
        self.members = WatchedMembership()
        self.scale(self.size)

    def make(self) -> None:
        """Make a replica, if there are fewer at work than there should be."""
        if len(set(map(self.replica_of, self.at_work))) >= self.size:
            return
        taken = set(map(self.replica_of, self.pods.values()))
        index = next(number for number in range(100) if number not in taken)
        for host in range(self.hosts):
            self._made += 1
            job, within = (index, host) if self.hosts > 1 else (0, index)
            self.change(None, life(f"w{self._made}", within, created=float(self._made), group="w", job=job))

    def replica_of(self, pod: Pod) -> int:
        return pod.job if self.hosts > 1 else pod.index

    def change(self, old: Pod | None, new: Pod | None) -> None:
        if old is not None:
            del self.pods[old.uid]
        if new is not None:
            self.pods[new.uid] = new
        self.members.change(old, new)

    @property
    def at_work(self) -> list[Pod]:
        return [each for each in self.pods.values() if not (each.terminating or each.failed)]

    def bend(self, which: int, **changes: Any) -> None:
        """Each pod of one replica changes, one after the other."""
        replicas = sorted(set(map(self.replica_of, self.pods.values())))
        if replicas:
            index = replicas[which % len(replicas)]
            for each in [pod for pod in self.pods.values() if self.replica_of(pod) == index]:
                self.change(each, replace(each, **changes) if changes else None)

    def sits(self) -> list[str]:
        """The pods at work that hold a place."""
        held = self.members.view.of(0).members.values()
        return [each.name for each in held if not (each.terminating or each.failed)]


STEPS = st.one_of(
    st.tuples(st.just("scale"), st.integers(0, MOST)),
    st.tuples(st.sampled_from(["make", "make", "delete", "gone", "fail", "take over"]), st.integers(0, MOST)),
)


@pytest.mark.parametrize("hosts", [1, 2])
@given(st.lists(STEPS, max_size=40))
def test_all_places_are_taken_while_as_many_pods_are_at_work_as_are_wanted(
    hosts: int, steps: list[tuple[str, int]]
) -> None:
    cluster = Cluster(hosts)
    for step, number in steps:
        match step:
            case "scale":
                cluster.scale(number)
            case "make":
                cluster.make()
            case "delete":
                cluster.bend(number, terminating=True)
            case "gone":
                cluster.bend(number)
            case "fail":
                cluster.bend(number, **FAILED)
            case _:
                cluster.take_over()
        sits, wanted = cluster.sits(), cluster.size * hosts
        assert len(sits) == len(set(sits)) == min(len(cluster.at_work), wanted), (step, cluster.pods)


# --- as it was seen ----------------------------------------------------------------------------------------------


def workers(*indices: int) -> dict[int, Pod]:
    return {index: life(f"w{index}", index, group="w", created=float(index)) for index in indices}


def group_of(size: int) -> Plan:
    return plan(groups=(HEAD, Group("w", 1, size, PodSpec(), 1)))


@pytest.mark.parametrize("kept", [0, 1, 2, 3])
def test_the_worker_that_a_scale_down_leaves_has_the_place_as_soon_as_its_pod_is_deleted(kept: int) -> None:
    pods = workers(0, 1, 2, 3)
    members = membership(*pods.values(), of=group_of(4))
    members.follow(group_of(1), CLAIMS, pods.values())
    for index in pods.keys() - {kept}:
        members.change(pods[index], replace(pods[index], terminating=True))
        assert not members.view.of(0).leaving, "no member is leaving: a pod at work has the place"
    assert names(members) == {1: f"w{kept}"}
    for index in pods.keys() - {kept}:
        members.change(replace(pods[index], terminating=True), None)
    assert (names(members), members.foreign) == ({1: f"w{kept}"}, 0)


def test_a_worker_beyond_the_last_place_that_is_being_deleted_takes_no_free_one() -> None:
    members = membership(replace(workers(3)[3], terminating=True), of=group_of(2))
    assert (names(members), members.foreign) == ({}, 1)


def test_a_worker_keeps_the_place_it_was_given_when_the_pod_before_it_is_gone() -> None:
    pods = workers(0, 5)
    going = replace(pods[0], terminating=True)
    members = membership(going, pods[5], of=group_of(1))
    assert names(members) == {1: "w5"}
    members.change(going, None)
    members.change(None, life("again", group="w", created=9.0))
    assert (names(members), set(members.others)) == ({1: "again"}, {"w5"}), "it leaves it to the one whose index it is"
