"""Which pods are members of a watched run, and which of two pods holds a place."""

from typing import Any

import pytest

from muster.kinds.declaration import Claim
from muster.kinds.places.membership import WatchedMembership
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.pod import Pod, PodPhase, PodSpec
from tests.builders import plan
from tests.kinds.places.conftest import CLAIMS, FAILED, OWNER, PAIR, TWO, life, membership, names

# --- pods without a place ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "stranger",
    [
        life("p", owner="raycluster/other"),
        life("p", epoch=-1),
        life("p", group="no-such-group"),
        life("p", job=1),
        life("p", job=-1),
    ],
)
def test_a_pod_whose_labels_give_no_place_of_the_plan_is_not_counted(stranger: Pod) -> None:
    members = membership(stranger)
    assert (names(members), members.foreign, members.others) == ({}, 1, {"p": stranger})
    assert not members.change(stranger, None), "what is counted did not change"
    assert (members.foreign, members.others) == (0, {})


def test_a_pod_that_states_the_uid_of_a_deleted_object_of_the_same_name_is_not_counted() -> None:
    claims = {TWO.title: Claim(TWO.title)}
    own, stale = life("new", owner=TWO.title, parent=TWO.uid), life("old", 1, owner=TWO.title, parent="uid-0")
    members = membership(own, stale, life("unsaid", 1, owner=TWO.title), claims=claims)
    assert (names(members), set(members.others)) == ({0: "new", 1: "unsaid"}, {"old"})


def test_no_pod_is_foreign_before_the_object_is_known() -> None:
    members = WatchedMembership()
    assert not members.change(None, life("a"))
    assert (members.foreign, set(members.others)) == (0, {"a"})
    members.follow(TWO, CLAIMS, tuple(members.others.values()))
    assert names(members) == {0: "a"}


# --- the claim ---------------------------------------------------------------------------------------------------


def test_a_claim_replaces_the_group_and_the_epoch_of_its_pods() -> None:
    for epoch in (0, 3):
        members = membership(life("a", group="other", epoch=1), claims={OWNER: Claim(OWNER, "worker", epoch)})
        counted = members.view.of(epoch).members[0]
        assert (counted.name, counted.group, counted.epoch) == ("a", "worker", epoch)


def test_a_claim_without_an_epoch_leaves_the_one_of_the_pod() -> None:
    assert names(membership(life("a", epoch=2), claims={OWNER: Claim(OWNER)}), epoch=2) == {0: "a"}


def test_a_claim_of_another_epoch_moves_the_pods_it_names() -> None:
    members, present = membership(life("a")), life("a")
    members.follow(TWO, {OWNER: Claim(OWNER, epoch=1)}, [present])
    assert (names(members), names(members, epoch=1)) == ({}, {0: "a"})


def test_another_size_judges_all_pods_again_and_another_generation_none() -> None:
    members = membership(life("a"), life("b", 1))
    members.follow(plan(groups=(PAIR,), generation=2), dict(CLAIMS), [])
    assert names(members) == {0: "a", 1: "b"}
    one = plan(groups=(Group("worker", 1, 1, PodSpec(), 0),))
    members.follow(one, CLAIMS, [life("a"), life("b", 1)])
    assert (names(members), members.foreign) == ({0: "a"}, 1)


def test_the_rank_follows_from_the_job_and_the_index_within_its_group() -> None:
    head, jobs = Group("head", 1, 1, PodSpec(), 0), Group("worker", 2, 2, PodSpec(), 1)
    members = membership(life("a", 0, group="head"), life("b", 1, job=1), of=plan(groups=(head, jobs)))
    assert names(members) == {0: "a", 4: "b"}


def test_a_newer_record_that_says_the_same_of_a_pod_changes_no_count() -> None:
    members = membership(life("a"))
    assert not members.change(life("a"), life("a", resource_version=2))
    assert members.view.of(0).members[0].resource_version == 2


# --- two pods of one place ---------------------------------------------------------------------------------------


def test_the_newest_pod_of_a_place_counts() -> None:
    members = membership(life("old", created=1), life("new", created=2))
    assert names(members) == {0: "new"}
    assert not members.change(None, life("older", created=0)), "a pod that waits changes no count"
    assert names(members) == {0: "new"}


def test_a_pod_that_is_terminating_leaves_the_place_to_an_older_one() -> None:
    new = life("new", created=2)
    members = membership(life("old", created=1), new)
    going = life("new", created=2, terminating=True)
    assert members.change(new, going)
    assert names(members) == {0: "old"}
    assert not members.change(going, None), "it was not counted any more"
    assert names(members) == {0: "old"}


def test_the_pod_that_waits_takes_the_place_of_the_one_that_is_gone() -> None:
    new = life("new", created=3)
    members = membership(life("first", created=1), life("second", created=2), new)
    assert members.change(new, None)
    assert names(members) == {0: "second"}
    assert members.change(life("second", created=2), None)
    assert names(members) == {0: "first"}
    assert members.change(life("first", created=1), None)
    assert names(members) == {}


def test_after_the_last_rival_is_gone_the_place_changes_hands_as_any_other() -> None:
    old = life("old", created=1)
    members = membership(old, life("new", created=2))
    members.change(old, None)
    assert members.change(life("new", created=2), life("new", created=2, ready=False))
    assert members.view.of(0).ready == 0
    assert members.change(life("new", created=2, ready=False), None)
    assert names(members) == {}


def test_a_member_that_had_succeeded_is_not_done_while_its_successor_runs() -> None:
    members = membership(life("done", created=1, phase=PodPhase.SUCCEEDED, ready=False))
    assert members.view.of(0).succeeded == 1
    assert members.change(None, life("again", created=2))
    assert (names(members), members.view.of(0).succeeded) == ({0: "again"}, 0)


def test_a_pod_whose_index_changes_leaves_its_place() -> None:
    before, after = life("a", 0), life("a", 1)
    members = membership(before)
    assert members.change(before, after)
    assert names(members) == {1: "a"}


# --- pods without an index ---------------------------------------------------------------------------------------


def test_pods_without_an_index_take_free_places_in_the_order_of_their_creation() -> None:
    members = membership(life("late", -1, created=2), life("early", -1, created=1))
    assert names(members) == {0: "early", 1: "late"}


def test_a_pod_without_an_index_keeps_its_place_while_it_changes() -> None:
    first, second = life("first", -1, created=1), life("second", -1, created=2)
    members = membership(first, second)
    members.change(first, None)
    assert members.change(second, life("second", -1, created=2, ready=False))
    assert names(members) == {1: "second"}
    assert members.change(None, life("third", -1, created=3)), "the place that became free is given again"
    assert names(members) == {0: "third", 1: "second"}


@pytest.mark.parametrize("over", [{"terminating": True}, FAILED], ids=["terminating", "failed"])
def test_a_pod_without_an_index_replaces_one_that_is_over(over: dict[str, Any]) -> None:
    members = membership(life("a", 0, created=1), life("b", 1, created=1, **over))
    assert members.change(None, life("c", -1, created=2))
    assert names(members) == {0: "a", 1: "c"}


def test_a_pod_without_an_index_has_no_place_beside_members_that_are_done() -> None:
    done: dict[str, Any] = {"phase": PodPhase.SUCCEEDED, "ready": False}
    members = membership(life("a", 0, **done), life("b", 1, **done))
    assert not members.change(None, life("c", -1, created=2))
    assert members.foreign == 1


# --- pods beyond the last place ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("indices", "seated"),
    [
        pytest.param((1, 7), {0: "w7", 1: "w1"}, id="it takes a free place"),
        pytest.param((0, 1, 7), {0: "w0", 1: "w1"}, id="one too many has none"),
        pytest.param((2, 0), {0: "w0", 1: "w2"}, id="it leaves a place to the pod with that index"),
        pytest.param((0, 2, 1), {0: "w0", 1: "w1"}, id="it leaves the last place, too"),
    ],
)
def test_a_pod_beyond_the_last_place_takes_one_that_no_other_pod_has_by_its_index(
    indices: tuple[int, ...], seated: dict[int, str]
) -> None:
    """Pods that a scale-down leaves keep their indices."""
    assert names(membership(*(life(f"w{index}", index, created=float(n)) for n, index in enumerate(indices)))) == seated
