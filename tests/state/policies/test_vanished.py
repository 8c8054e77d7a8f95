"""Pods that went out of sight without a last state: nothing is created beside them, and their quota is kept."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from muster.state.vocabulary.actions import (
    Action,
    ConfirmEnd,
    ConfirmLaunch,
    ConfirmLoss,
    DeletePods,
    DeleteSubject,
    ReleaseWorkload,
    StopPods,
)
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.pod import Pod, PodSpec
from muster.state.vocabulary.rules import FailureAction, FailureRule
from tests.builders import edited, plan
from tests.state.queueing import test_queue as queue
from tests.state.queueing.replay import QueueStory, queued_plan
from tests.state.queueing.test_queue import workload
from tests.state.story import Story, creations

ADMITTED = ("QuotaReserved", "Admitted")


def vanish(story: Story, rank: int) -> Pod:
    """The watch shows that pod no more, and no end of it."""
    pod = story.pods[story.kept.epoch, rank]
    story.view.engine.vanish(pod)
    story.gone(rank)
    return pod


def incomplete(**overrides: Any) -> Story:
    """A gang of four of which the ranks 0 and 1 run, and the others have no pod yet."""
    story = Story(plan(**overrides))
    story.view.engine.confirmed, story.view.engine.service = 0, True
    story.look()
    for rank in (0, 1):
        story.set(rank)
    return story


def test_no_member_is_created_while_the_live_api_was_not_asked_for_its_pod() -> None:
    story = incomplete()
    pod = vanish(story, 1)
    assert story.look(1) == (ConfirmLoss(0, (1,), vanished=(pod,)),)


@pytest.mark.parametrize("had_a_node", [True, False])
def test_beside_a_pod_that_was_altered_only_the_others_are_created(had_a_node: bool) -> None:
    """Without a node when it was seen last, it may have run meanwhile."""
    story = incomplete()
    story.set(1, scheduled=had_a_node, started=had_a_node)
    pod = vanish(story, 1)
    story.view.engine.found((), (pod,))
    actions = story.look(1)
    assert creations(actions) == [2, 3]
    assert actions[-1] == ConfirmLoss(0, (1,), vanished=(pod,)), "it is asked for last: what it refuses keeps no other"


def test_a_pod_that_is_lost_out_of_sight_ends_the_epoch_of_an_incomplete_gang() -> None:
    story = incomplete()
    pod = vanish(story, 1)
    story.view.engine.found((pod,), ())
    story.view.engine.lost, story.view.engine.lost_ranks = 0, (1,)
    assert creations(story.look(1)) == []
    assert (story.kept.epoch, story.kept.disruptions, story.kept.restarts) == (1, 1, 0)
    assert (story.cause.reason, story.cause.rank) == ("PodDeleted", 1)


def test_a_pod_that_is_seen_again_is_counted_and_nothing_is_asked() -> None:
    story = incomplete()
    pod = vanish(story, 1)
    story.view.engine.seen(pod)
    story.set(1)
    assert creations(story.look(1)) == [2, 3]
    assert story.kept.epoch == 0


def test_a_pod_that_vanished_before_it_had_a_node_is_created_again_once_it_is_known_to_be_gone() -> None:
    story = incomplete()
    story.set(1, scheduled=False, started=False)
    pod = vanish(story, 1)
    assert story.look(1) == (ConfirmLaunch(0, vanished=(pod,)),)
    story.view.engine.found((pod,), ())
    assert creations(story.look(1)) == [1, 2, 3]
    assert story.kept.epoch == 0


def test_a_member_that_runs_again_alone_waits_for_its_vanished_pod_too() -> None:
    story = incomplete(rules=(FailureRule(FailureAction.RESTART_MEMBER),))
    assert story.plan.piecewise
    story.set(1, scheduled=False, started=False)
    pod = vanish(story, 1)
    story.view.engine.found((), (pod,))
    actions = story.look(1)
    assert actions[0] == ConfirmLoss(0, attempts=((1, 0),), vanished=(pod,))
    assert creations(actions) == [2, 3]


def test_members_of_a_sequential_group_are_not_created_beside_a_vanished_pod() -> None:
    group = Group("worker", 1, 4, PodSpec("example.org/train:1", "run"), 0, parallelism=1)
    story = Story(replace(plan(), operator="jobset", coordinator=None, groups=(group,)))
    story.view.engine.confirmed, story.view.engine.service = 0, True
    story.look()
    story.set(0)
    pod = vanish(story, 0)
    assert story.look(1) == (ConfirmLoss(0, (0,), vanished=(pod,)),)


def at_work(**overrides: Any) -> QueueStory:
    story = queue.at_work(**overrides)
    story.view.mark_created(0, (), 4)
    return story


def obeyed(story: QueueStory, after: float = 1.0) -> tuple[Action, ...]:
    """What is left to do when the pods that are seen have ended, as they are asked to."""
    while ends := [each for each in story.look(after) if isinstance(each, DeletePods | StopPods)]:
        after = 0.0
        for each in ends:
            if isinstance(each, StopPods):
                story.do(each)
                continue
            story.view.mark_deleting(each.pods, each.grace)
            for pod in each.pods:
                if pod.uid not in story.view.engine.vanished:
                    story.gone(pod.rank, pod.epoch)
    return story.look()


def asked(story: QueueStory) -> list[str]:
    return [type(each).__name__ for each in obeyed(story)]


@pytest.mark.parametrize(
    ("spec", "gives_back"),
    [
        ({}, "PatchWorkloadStatus"),
        ({"suspend": True, "generation": 2}, "DeleteWorkload"),
        ({"cancel": True, "generation": 2}, "PatchWorkloadStatus"),
        ({"deleting": True}, "DeleteWorkload"),
    ],
    ids=["evicted", "suspended", "cancelled", "deleted"],
)
def test_quota_is_given_back_only_when_a_vanished_pod_is_known_to_have_ended(
    spec: dict[str, Any], gives_back: str
) -> None:
    story = at_work()
    pod = vanish(story, 2)
    story.view.engine.found((), (pod,))
    story.plan = edited(story.plan, **spec)
    if not spec:
        story.see(workload("own", *ADMITTED, "Evicted"))
    for _ in range(3):
        last = obeyed(story)[-1]
        assert isinstance(last, ConfirmEnd)
        assert last.vanished == (pod,)
        assert gives_back not in asked(story)
    story.view.engine.found((pod,), ())
    assert gives_back in asked(story)
    assert "ConfirmEnd" not in asked(story)


def test_while_a_pod_is_seen_to_run_no_other_is_asked_for() -> None:
    story = at_work()
    vanish(story, 2)
    story.plan = edited(story.plan, suspend=True, generation=2)
    assert [type(each) for each in story.look(1)] == [DeletePods]


def test_what_is_given_back_already_asks_for_no_pod() -> None:
    story = at_work()
    story.plan = edited(story.plan, cancel=True, generation=2)
    vanish(story, 2)
    story.see(structs.replace(workload("own", *ADMITTED, "Finished"), finalizers=()))
    assert not any(isinstance(each, ConfirmEnd) for each in obeyed(story))


def test_a_process_that_has_not_seen_the_gang_complete_searches_for_its_pods_first() -> None:
    story = at_work()
    story.gone(3)  # before the process came
    story.view.engine.launched = -1
    story.plan = edited(story.plan, cancel=True, generation=2)
    assert obeyed(story) == (ConfirmEnd(0, search=True),)
    story.view.engine.searched = True
    assert asked(story) == ["PatchWorkloadStatus"]


def test_an_experiment_that_was_never_admitted_searches_for_none() -> None:
    story = QueueStory(queued_plan())
    story.turn()
    story.see(workload())
    story.plan = edited(story.plan, cancel=True, generation=2)
    assert asked(story) == ["PatchWorkloadStatus"]


def test_an_experiment_whose_time_is_over_is_deleted_while_its_quota_waits() -> None:
    story = at_work(ttl=5.0)
    pod = vanish(story, 2)
    story.view.engine.found((), (pod,))
    story.plan = edited(story.plan, cancel=True, generation=2)
    obeyed(story)
    assert [type(each) for each in obeyed(story, 10.0)] == [DeleteSubject, ConfirmEnd]


def test_pods_that_are_to_stay_keep_no_quota() -> None:
    story = at_work()
    vanish(story, 2)
    story.plan = edited(story.plan, deleting=True, orphans=True)
    (workload_,) = story.view.workloads.values()
    assert story.look() == (ReleaseWorkload(workload_),)
