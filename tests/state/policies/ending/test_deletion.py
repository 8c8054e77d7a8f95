"""An Experiment that is being deleted: which of its pods go."""

from typing import Any

from muster.state.facts.context import Context
from muster.state.policies.ending import clear_away
from muster.state.vocabulary.actions import DeletePods
from muster.state.vocabulary.pod import Pod, PodPhase
from tests.builders import NOW, plan, pod, record, view, view_of

ENDED = pod(2, epoch=1, phase=PodPhase.FAILED)
PODS = (pod(0, epoch=1), pod(1, epoch=0), ENDED, pod(3, epoch=1, terminating=True))


def case(*pods: Pod, **changes: Any) -> Context:
    return Context.at(plan(deleting=True, **changes), record(epoch=1), view(*pods), NOW)


def deleted(context: Context) -> list[Pod]:
    actions = clear_away(context)
    assert all(action == DeletePods(action.pods, None, "the Experiment is being deleted") for action in actions)
    return [pod for action in actions for pod in action.pods]


def test_the_pods_of_all_epochs_that_may_run_are_deleted_with_their_own_grace() -> None:
    assert {each.uid for each in deleted(case(*PODS))} == {PODS[0].uid, PODS[1].uid}


def test_ended_pods_go_too_where_the_object_waits_for_them() -> None:
    assert {each.uid for each in deleted(case(*PODS, foreground=True))} == {each.uid for each in PODS[:3]}


def test_pods_that_are_to_stay_are_left_alone() -> None:
    assert deleted(case(*PODS, orphans=True)) == []


def test_a_pod_whose_deletion_was_accepted_is_not_deleted_again() -> None:
    context = case(*PODS)
    view_of(context).mark_deleting((PODS[0],), None)
    assert deleted(context) == [PODS[1]]
