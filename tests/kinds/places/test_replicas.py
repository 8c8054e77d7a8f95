"""Replicas of several hosts keep their index when others go, and no two of them are one job."""

from typing import Any

import pytest

from muster.kinds.places.membership import WatchedMembership
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.pod import Pod, PodSpec
from tests.builders import plan
from tests.kinds.places.conftest import HEAD, life, membership, names


def cluster() -> WatchedMembership:
    """The members of a cluster with two replicas of two hosts, without pods."""
    return membership(of=plan(groups=(HEAD, Group("tpu", 2, 2, PodSpec(), 1, sparse=True))))


def host(replica: int, number: int, again: str = "", **changes: Any) -> Pod:
    return life(f"r{replica}h{number}{again}", number, group="tpu", job=replica, **changes)


def join(members: WatchedMembership, *replicas: int, **changes: Any) -> None:
    for replica in replicas:
        for number in range(2):
            members.change(None, host(replica, number, **changes))


@pytest.mark.parametrize("left", [(0, 1), (0, 2), (2, 0), (1, 7), (5, 7)])
def test_after_a_scale_down_every_host_of_the_replicas_that_are_left_has_a_rank_of_its_own(
    left: tuple[int, int],
) -> None:
    members = cluster()
    join(members, *left)
    assert sorted(names(members)) == [1, 2, 3, 4]
    assert sorted(names(members).values()) == sorted(f"r{replica}h{number}" for replica in left for number in (0, 1))
    assert members.foreign == 0


def test_the_hosts_of_one_replica_are_one_job_in_their_order() -> None:
    members = cluster()
    join(members, 0, 7)
    assert names(members) == {1: "r0h0", 2: "r0h1", 3: "r7h0", 4: "r7h1"}


def test_a_new_replica_takes_the_job_that_is_free_and_not_that_of_its_index() -> None:
    members = cluster()
    join(members, 0, 2)
    for number in range(2):
        members.change(host(0, number), None)
    join(members, 1)
    assert names(members) == {1: "r1h0", 2: "r1h1", 3: "r2h0", 4: "r2h1"}


def test_a_new_replica_takes_the_job_of_one_whose_hosts_all_end() -> None:
    members = cluster()
    join(members, 0, 2)
    for number in range(2):
        members.change(host(0, number), host(0, number, terminating=True))
    join(members, 1, created=5.0)
    seated = names(members)
    for number in range(2):
        members.change(host(0, number, terminating=True), None)
    assert names(members) == seated == {1: "r1h0", 2: "r1h1", 3: "r2h0", 4: "r2h1"}


def test_a_host_that_is_replaced_keeps_its_rank() -> None:
    members = cluster()
    join(members, 0, 7)
    members.change(host(7, 1), None)
    assert 4 not in names(members)
    members.change(None, host(7, 1, "b"))
    assert names(members)[4] == "r7h1b"


def test_one_replica_too_many_has_no_place_while_the_others_are_at_work() -> None:
    members = cluster()
    join(members, 0, 1, 2)
    assert (sorted(names(members)), members.foreign) == ([1, 2, 3, 4], 2)
    members.change(host(2, 0), None)
    assert (sorted(names(members)), members.foreign) == ([1, 2, 3, 4], 1)


def test_a_host_beyond_the_last_of_its_replica_or_with_a_broken_index_has_no_place() -> None:
    members = cluster()
    for stranger in (host(0, 2), host(-1, 0)):
        members.change(None, stranger)
    assert (names(members), members.foreign) == ({}, 2)


def test_hosts_of_an_operator_that_gives_no_indices_take_any_place_of_the_group() -> None:
    members = cluster()
    for number in range(5):
        members.change(None, host(0, -1, f"-{number}"))
    assert (sorted(names(members)), members.foreign) == ([1, 2, 3, 4], 1)
    members.change(host(0, -1, "-2"), None)
    assert names(members)[3] == "r0h-1-4", "it had waited for a place"
    members.change(None, host(0, -1, "-5"))
    assert (names(members)[3], members.foreign) == ("r0h-1-4", 1)
