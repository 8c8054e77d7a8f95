"""Which pods are members of an experiment."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.names import name_suffix, pod_name
from muster.state.view.membership import Membership
from muster.state.vocabulary.plan import MAX_EPOCH, Plan
from muster.state.vocabulary.pod import Pod, PodPhase
from tests.builders import edited, plan, pod, worker_group

PLAN = plan(size=4)


def membership(of: Plan | None = PLAN) -> Membership:
    members = Membership()
    if of is not None:
        members.follow(of)
    return members


def named(rank: int, epoch: int, /, **labels: object) -> Pod:
    """A pod with the name of that rank in that epoch, and with these labels."""
    name = pod_name("run", "worker", 0, rank, name_suffix("uid-1", epoch))
    facts: dict[str, Any] = {"rank": rank, "index": rank, "uid": "forged", "name": name, "epoch": epoch, **labels}
    return pod(**facts)


FORGED = {
    "a name of its own": pod(0, name="run-worker-0-0"),
    "the name of another rank": named(1, 0, rank=0, index=0),
    "the name of another epoch": named(0, 1, epoch=0),
    "a rank that the plan does not have": named(4, 0),
    "no rank": named(0, 0, rank=-1),
    "a group that the plan does not have": named(0, 0, group="driver"),
    "a job that the group does not have": named(0, 0, job=1),
    "the index of another member": named(0, 0, index=1),
    "a negative epoch": named(0, -1),
    "an epoch beyond all": named(0, MAX_EPOCH + 1),
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED.keys())
def test_a_pod_that_is_not_what_the_plan_makes_of_a_member_is_not_counted(forged: Pod) -> None:
    members = membership()
    assert not members.change(None, forged)
    assert members.view.epochs == {}
    assert members.foreign == 1
    newer = msgspec.structs.replace(forged, resource_version=2, ready=False)
    assert not members.change(forged, newer)
    assert not members.change(newer, None)
    assert members.empty
    assert members.foreign == 0


def test_pods_that_arrive_before_the_plan_are_held_and_then_judged_by_it() -> None:
    members = membership(None)
    ours, forged = pod(0), FORGED["a name of its own"]
    forged = msgspec.structs.replace(forged, uid="forged")
    assert not members.change(None, ours)
    assert not members.change(None, forged)
    assert (members.foreign, members.empty) == (0, False)
    assert members.follow(PLAN)
    assert list(members.view.pods()) == [ours]
    assert members.foreign == 1
    assert not members.follow(edited(PLAN, generation=2, suspend=True))


def test_a_plan_with_other_groups_judges_all_pods_anew() -> None:
    members = membership()
    pods = [pod(rank) for rank in range(4)]
    for each in pods:
        members.change(None, each)
    assert members.follow(replace(PLAN, groups=(worker_group(2),)))
    assert sorted(each.rank for each in members.view.pods()) == [0, 1]
    assert members.foreign == 2
    assert members.follow(PLAN)
    assert members.view.of(0).pods == 4
    assert members.foreign == 0


def test_a_member_that_is_not_seen_any_more_is_kept_until_it_is_known_to_be_gone() -> None:
    members = membership()
    members.change(None, pod(1))
    members.change(pod(1), None)
    engine = members.view.engine
    assert set(engine.vanished) == {pod(1).uid}
    members.change(None, pod(1, resource_version=2))
    assert engine.vanished == {}
    members.change(pod(1, resource_version=2), None)
    engine.found([pod(1)], [])
    assert engine.vanished == {}


@pytest.mark.parametrize("last", [{"phase": PodPhase.FAILED}, {"scheduled": False, "terminating": True}])
def test_a_member_whose_last_state_says_that_it_does_not_run_is_gone(last: dict[str, Any]) -> None:
    members = membership()
    members.change(None, pod(1, **last))
    members.change(pod(1, **last), None)
    assert members.view.engine.vanished == {}


def test_a_member_with_the_uid_of_another_owner_in_its_label_has_vanished_and_is_foreign() -> None:
    members = membership()
    members.change(None, pod(1))
    assert members.change(pod(1), pod(1, parent="another", resource_version=2))
    assert (members.foreign, set(members.view.engine.vanished)) == (1, {pod(1).uid})
    assert members.view.epochs == {}
    assert members.change(pod(1, parent="another", resource_version=2), pod(1, resource_version=3))
    assert (members.foreign, members.view.engine.vanished, members.view.of(0).pods) == (0, {}, 1)


def test_a_member_whose_labels_are_edited_stays_that_member() -> None:
    members = membership()
    before = pod(1)
    members.change(None, before)
    edited = msgspec.structs.replace(before, resource_version=2, rank=0, epoch=7, group="driver", ready=False)
    assert members.change(before, edited)
    kept = members.view.of(0).members[1]
    assert (kept.rank, kept.epoch, kept.group, kept.ready, kept.resource_version) == (1, 0, "worker", False, 2)
    assert members.change(edited, None)
    assert members.empty


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.booleans(), st.booleans()), max_size=30))
def test_members_and_others_together_are_the_pods_that_exist(changes: list[tuple[int, int, bool, bool]]) -> None:
    members, there = membership(), dict[str, Pod]()
    for number, (rank, epoch, true, goes) in enumerate(changes):
        name = {} if true else {"name": f"forged-{rank}"}
        new = pod(rank, uid=f"{rank}-{epoch}-{true}", epoch=epoch, resource_version=number + 1, **name)
        old = there.pop(new.uid, None)
        if not goes:
            there[new.uid] = new
        members.change(old, None if goes else new)
    counted = {each.uid for each in members.view.pods()}
    assert counted | set(members.others) == set(there)
    assert counted == {uid for uid, each in there.items() if each.rank < 4 and not each.name.startswith("forged")}
