"""How an experiment ends: by its success, by a suspension or a cancellation, and by its deletion."""

from dataclasses import replace
from typing import Any

import pytest

from muster.state.decide.machine import decide
from muster.state.facts.context import Context
from muster.state.policies import ending
from muster.state.policies.ending import clear_away
from muster.state.policies.verdicts import Fail, Resume, Succeed, Suspend
from muster.state.vocabulary.actions import DeletePods, StopPods
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.pod import Pod, PodPhase, PodSpec
from muster.state.vocabulary.record import Phase
from muster.state.vocabulary.rules import ClockAction, ClockName, Quantifier, SuccessRule
from tests.builders import NOW, Clock, edited, plan, pod, record, view, view_of
from tests.state.story import Story

CANCELLED = Fail("Cancelled", "cancelled by spec.cancel")


@pytest.mark.parametrize(
    ("cancel", "suspend", "phase", "verdict"),
    [
        (False, False, Phase.RUNNING, None),
        (False, True, Phase.RUNNING, Suspend()),
        (False, True, Phase.SUSPENDED, None),
        (False, False, Phase.SUSPENDED, Resume()),
        (True, False, Phase.RUNNING, CANCELLED),
        (True, True, Phase.RUNNING, CANCELLED),
        (True, True, Phase.SUSPENDED, CANCELLED),
    ],
)
def test_the_wish_is_followed(cancel: bool, suspend: bool, phase: Phase, verdict: object) -> None:
    case = Context.at(plan(cancel=cancel, suspend=suspend), record(phase=phase), view(), NOW)
    assert ending.judge_suspension(case) == verdict


def test_the_pending_clock_starts_when_the_old_pods_are_gone_after_a_resumption() -> None:
    clocks = {ClockName.PENDING: Clock(20, ClockAction.FAIL)}
    story = Story(plan(clocks=clocks)).assemble()
    story.plan = edited(story.plan, suspend=True, generation=2)
    story.look()
    for rank in range(4):
        story.set(rank, 0, terminating=True)
    story.plan = edited(story.plan, suspend=False, generation=3)
    story.look(1)
    assert (story.kept.phase, story.kept.epoch_at, story.kept.started_at) == (Phase.PENDING, None, story.now)
    story.look(60)
    assert (story.kept.phase, story.kept.reason) == (Phase.PENDING, "AwaitingOldPods")
    for rank in range(4):
        story.gone(rank, 0)
    story.look()
    assert story.kept.epoch_at == story.now
    story.look(19)
    assert story.kept.phase is Phase.PENDING
    story.look(1)
    assert (story.kept.phase, story.kept.reason) == (Phase.FAILED, "PendingDeadlineExceeded")


def test_a_run_that_is_cancelled_before_its_restart_began_says_so_and_counts_none() -> None:
    story = Story(plan()).assemble()
    story.end(1, 1)
    story.look()
    assert (story.kept.phase, story.kept.restarts, story.kept.restarts_begun) == (Phase.RESTARTING, 1, 1)
    story.plan = edited(story.plan, cancel=True)
    story.look()
    assert (story.kept.phase, story.kept.restarts_begun, story.kept.epoch_begun) == (Phase.FAILED, 0, 0)
    assert story.kept.message.startswith("cancelled by spec.cancel before epoch 1 began; rank 1 (")


def test_the_message_of_a_cancelled_run_names_who_asked() -> None:
    cancelled = plan(cancel=True, cancelled_by="anna@desk at 2027-01-15T08:00:00Z")
    verdict = ending.judge_suspension(Context.at(cancelled, record(phase=Phase.RUNNING), view(), NOW))
    assert verdict == Fail("Cancelled", "cancelled by anna@desk at 2027-01-15T08:00:00Z")


def test_a_restart_that_has_begun_is_counted_after_a_cancellation() -> None:
    story = Story(plan()).assemble()
    story.end(1, 1)
    story.obey()
    story.look(10)
    assert story.kept.phase is Phase.PENDING
    story.plan = edited(story.plan, cancel=True)
    story.look()
    assert (story.kept.message, story.kept.restarts_begun) == ("cancelled by spec.cancel", 1)
    assert story.kept.epoch_begun == 1


@pytest.mark.parametrize(
    ("size", "ended", "message"),
    [
        (0, 0, "no members were asked for"),
        (1, 1, "the member succeeded"),
        (2, 2, "all 2 members succeeded"),
        (4, 4, "all 4 members succeeded"),
        (4, 3, None),
        (1, 0, None),
    ],
)
def test_all_must_have_ended_well(size: int, ended: int, message: str | None) -> None:
    pods = [pod(rank, phase=PodPhase.SUCCEEDED if rank < ended else PodPhase.RUNNING) for rank in range(size)]
    verdict = ending.judge_success(Context.at(plan(size=size), record(), view(*pods), NOW))
    assert verdict == (Succeed(message) if message else None)


def test_members_of_another_epoch_do_not_count() -> None:
    pods = [pod(rank, epoch=0, phase=PodPhase.SUCCEEDED) for rank in range(4)]
    assert ending.judge_success(Context.at(plan(), record(epoch=1), view(*pods), NOW)) is None


def groups() -> tuple[Group, ...]:
    """Two jobs ``a`` of two members each, and one member ``b``."""
    return (Group("a", 2, 2, PodSpec(), 0), Group("b", 1, 1, PodSpec(), 4))


def ended(*ranks: int) -> Context:
    where = {0: ("a", 0), 1: ("a", 0), 2: ("a", 1), 3: ("a", 1), 4: ("b", 0)}
    pods = [pod(rank, group=where[rank][0], job=where[rank][1], phase=PodPhase.SUCCEEDED) for rank in ranks]
    return Context.at(plan(groups=groups(), coordinator=None), record(), view(*pods), NOW)


@pytest.mark.parametrize(
    ("rule", "ranks", "message"),
    [
        (SuccessRule(Quantifier.ALL, ("b",)), (4,), "the member of b succeeded"),
        (SuccessRule(Quantifier.ALL, ("a",)), (0, 1, 2), None),
        (SuccessRule(Quantifier.ALL, ("a",)), (0, 1, 2, 3), "all 4 members of a succeeded"),
        (SuccessRule(Quantifier.ANY), (0, 2), None),
        (SuccessRule(Quantifier.ANY), (2, 3), "job a-1 succeeded"),
        (SuccessRule(Quantifier.ANY), (4,), "job b-0 succeeded"),
        (SuccessRule(Quantifier.ANY, ("a",)), (4,), None),
    ],
)
def test_a_success_policy_asks_for_its_targets(rule: SuccessRule, ranks: tuple[int, ...], message: str | None) -> None:
    here = ended(*ranks)
    verdict = ending.judge_success(Context.at(replace(here.plan, success=rule), here.record, here.view, NOW))
    assert verdict == (Succeed(message, ending.BY_POLICY) if message else None)


def test_the_rest_is_stopped_and_keeps_its_logs() -> None:
    run = replace(plan(groups=groups(), coordinator=None), success=SuccessRule(Quantifier.ANY, ("b",)))
    pods = [pod(rank, group="a", job=rank // 2) for rank in range(4)]
    seen = view(*pods, pod(4, group="b", phase=PodPhase.SUCCEEDED, ready=False))
    decision = decide(run, record(phase=Phase.RUNNING, size=5), seen, NOW)
    assert (decision.record.phase, decision.record.reason) == (Phase.SUCCEEDED, "SuccessPolicyMet")
    assert decision.record.ready == 5
    assert decision.actions == (StopPods(tuple(pods), "the experiment has ended"),)


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
