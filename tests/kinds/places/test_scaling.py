"""A group that is scaled up and down: as many pods at work as the plan wants are in all of its places."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.kinds.declaration import Claim
from muster.kinds.places.membership import WatchedMembership
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Exit, Pod, PodPhase, PodSpec
from tests.builders import NOW, plan, pod

OWNER = "raycluster/rc"
CLAIMS = {OWNER: Claim(OWNER, epoch=0)}
HEAD = Group("headgroup", 1, 1, PodSpec(), 0)
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
        if len({each.job if self.hosts > 1 else each.index for each in self.at_work}) >= self.size:
            return
        taken = {each.job if self.hosts > 1 else each.index for each in self.pods.values()}
        index = next(number for number in range(100) if number not in taken)
        for host in range(self.hosts):
            self._made += 1
            job, within = (index, host) if self.hosts > 1 else (0, index)
            name = f"w{self._made}"
            labels: dict[str, Any] = {"owner": OWNER, "group": "w", "job": job, "index": within}
            self.change(None, pod(0, name=name, uid=name, created=float(self._made), **labels))

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
        replicas = sorted({each.job if self.hosts > 1 else each.index for each in self.pods.values()})
        if replicas:
            index = replicas[which % len(replicas)]
            for each in [p for p in self.pods.values() if (p.job if self.hosts > 1 else p.index) == index]:
                self.change(each, _bent(each, **changes) if changes else None)

    def sits(self) -> list[str]:
        """The pods at work that hold a place."""
        held = self.members.view.of(0).members.values()
        return [each.name for each in held if not (each.terminating or each.failed)]


def _bent(of: Pod, **changes: Any) -> Pod:
    names = ("owner", "group", "job", "index", "name", "uid", "created", "terminating", "phase", "exit", "ready")
    return pod(0, **{name: getattr(of, name) for name in names} | changes)


FAILED = {"phase": PodPhase.FAILED, "ready": False, "exit": Exit("w", 1, 0, "Error", "", NOW)}
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
    made = (pod(0, name=f"w{n}", uid=f"w{n}", owner=OWNER, group="w", index=n, created=float(n)) for n in indices)
    return {each.index: each for each in made}


def seats(members: WatchedMembership) -> dict[int, str]:
    return {rank: each.name for rank, each in sorted(members.view.of(0).members.items())}


def group_of(size: int) -> Plan:
    return plan(groups=(HEAD, Group("w", 1, size, PodSpec(), 1)))


@pytest.mark.parametrize("kept", [0, 1, 2, 3])
def test_the_worker_that_a_scale_down_leaves_has_the_place_as_soon_as_its_pod_is_deleted(kept: int) -> None:
    members, pods = WatchedMembership(), workers(0, 1, 2, 3)
    members.follow(group_of(4), CLAIMS, pods.values())
    members.follow(group_of(1), CLAIMS, pods.values())
    for index in pods.keys() - {kept}:
        members.change(pods[index], _bent(pods[index], terminating=True))
        assert not members.view.of(0).leaving, "no member is leaving: a pod at work has the place"
    assert seats(members) == {1: f"w{kept}"}
    for index in pods.keys() - {kept}:
        members.change(_bent(pods[index], terminating=True), None)
    assert (seats(members), members.foreign) == ({1: f"w{kept}"}, 0)


def test_a_worker_beyond_the_last_place_that_is_being_deleted_takes_no_free_one() -> None:
    pods = workers(3)
    members = WatchedMembership()
    members.follow(group_of(2), CLAIMS, [_bent(pods[3], terminating=True)])
    assert (seats(members), members.foreign) == ({}, 1)


def test_a_worker_keeps_the_place_it_was_given_when_the_pod_before_it_is_gone() -> None:
    members, pods = WatchedMembership(), workers(0, 5)
    going = _bent(pods[0], terminating=True)
    members.follow(group_of(1), CLAIMS, [going, pods[5]])
    assert seats(members) == {1: "w5"}
    members.change(going, None)
    again = _bent(pods[0], name="again", uid="again", created=9.0)
    members.change(None, again)
    assert (seats(members), set(members.others)) == ({1: "again"}, {"w5"}), "it leaves it to the one whose index it is"
