"""The plan answers who the members are, what they are called, and how long to wait."""

import pytest

from muster.api.names import name_suffix
from muster.state.vocabulary.group import Group, Member
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import PodSpec
from muster.state.vocabulary.rules import Backoff
from tests.builders import plan

MASTER = Group("master", replicas=1, completions=2, pod=PodSpec(), first_rank=0)
WORKERS = Group("worker", replicas=3, completions=4, pod=PodSpec(), first_rank=2, first_job=1, parallelism=2)


def two_groups() -> Plan:
    return plan(groups=(MASTER, WORKERS))


@pytest.mark.parametrize(
    ("restart", "seconds"), [(0, 1.0), (1, 1.0), (2, 2.0), (3, 4.0), (9, 256.0), (10, 300.0), (10**6, 300.0)]
)
def test_the_backoff_doubles_up_to_its_maximum(restart: int, seconds: float) -> None:
    assert Backoff().delay(restart) == seconds


def test_a_backoff_that_never_ends_growing_stays_a_number() -> None:
    assert Backoff(initial=1, maximum=1e300, factor=10).delay(10**9) == 1e64
    assert Backoff(initial=1, maximum=1e300, factor=10).delay(65) == 1e64
    assert Backoff(initial=1, maximum=1e300, factor=10).delay(64) == 1e63


@pytest.mark.parametrize(("parallelism", "together"), [(0, 12), (1, 3), (2, 6), (4, 12), (9, 12)])
def test_a_group_runs_so_many_at_a_time(parallelism: int, together: int) -> None:
    group = Group("worker", replicas=3, completions=4, pod=PodSpec(), first_rank=0, parallelism=parallelism)
    assert (group.size, group.at_a_time) == (12, together)
    run = plan(groups=(group,))
    assert (run.together, run.sequential) == (together, together < 12)


def test_ranks_are_dense_groups_then_jobs_then_pods() -> None:
    run = two_groups()
    assert (run.size, run.together) == (14, 2 + 6)
    assert list(run.members()) == [
        Member("master", 0, 0, 0),
        Member("master", 0, 1, 1),
        *(Member("worker", job, pod, 2 + 4 * job + pod) for job in range(3) for pod in range(4)),
    ]


def test_each_rank_finds_its_member_and_no_other_rank_does() -> None:
    run = two_groups()
    assert [run.member(rank) for rank in range(14)] == list(run.members())
    assert [run.member(rank) for rank in (-1, 14, 10**9)] == [None, None, None]
    assert [run.group_of(rank) for rank in (0, 1, 2, 13, 14)] == [MASTER, MASTER, WORKERS, WORKERS, None]


def test_an_empty_group_has_no_member() -> None:
    empty = Group("spare", replicas=0, completions=4, pod=PodSpec(), first_rank=0)
    run = plan(groups=(empty, Group("worker", 1, 2, PodSpec(), first_rank=0)))
    assert [member.group for member in run.members()] == ["worker", "worker"]


def test_names_differ_per_epoch_and_carry_the_place() -> None:
    run = two_groups()
    member = Member("worker", 1, 3, 9)
    suffix = name_suffix("uid-1", 7)
    assert run.pod_name(member, 7) == f"run-worker-1-3-{suffix}"
    assert run.hostname(member, 7) == f"worker-1-3-{suffix}"
    assert run.pod_name(member, 8) != run.pod_name(member, 7)


def test_a_member_is_named_by_its_place_where_there_are_several_groups() -> None:
    jobs = Group("eval", replicas=2, completions=1, pod=PodSpec(), first_rank=14)
    run = plan(groups=(MASTER, WORKERS, jobs))
    assert [run.place(rank) for rank in (1, 9, 15)] == ["master-1", "worker-1-3", "eval-1"]
    assert (run.place(99), plan(size=4).place(2)) == ("", "")


def test_members_meet_at_the_coordinator_of_their_epoch() -> None:
    run = plan()
    host = f"worker-0-0-{name_suffix('uid-1', 2)}.run"
    assert (run.coordinator_host(2), run.coordinator_address(2)) == (host, f"{host}:1234")
    nobody = plan(coordinator=None)
    assert (nobody.coordinator_host(0), nobody.coordinator_address(0), plan(size=0).coordinator_host(0)) == ("", "", "")
