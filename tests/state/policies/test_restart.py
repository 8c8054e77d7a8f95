"""Failure: the first member that fails ends the epoch, and what was done to it costs nothing."""

from typing import Any

import pytest

from muster.state.facts.context import Context
from muster.state.facts.sentences import sentence
from muster.state.policies import restart
from muster.state.policies.verdicts import Fail, ReadFirst, Restart
from muster.state.view.engine_facts import LiveRead
from muster.state.vocabulary.pod import Exit, Pod, PodPhase
from muster.state.vocabulary.record import Cause, Phase
from muster.state.vocabulary.rules import FailureAction, FailureRule
from tests.builders import NOW, plan, pod, record, sure, view, view_of
from tests.state.story import Story


def crashed(rank: int, code: int = 1, at: float = NOW - 5, **changes: Any) -> Pod:
    return pod(rank, phase=PodPhase.FAILED, exit=Exit("main", code, 0, "Error", "", at), **changes)


def case(*pods: Pod, lost: int = -1, limit: int = 3, looked: int | None = 1, **facts: Any) -> Context:
    seen = view(*pods)
    seen.engine.lost = lost
    seen.engine.live_read = None if looked is None else LiveRead(NOW, looked)
    return Context.at(plan(limit=limit), record(**facts), seen, NOW)


def first(*pods: Pod, **facts: Any) -> Cause:
    return sure(restart.first_cause(case(*pods, **facts)))


def test_a_healthy_gang_has_no_cause() -> None:
    healthy = case(*(pod(rank) for rank in range(4)), scheduled_at=NOW)
    assert restart.first_cause(healthy) is None
    assert restart.judge(healthy) is None


LOST: dict[str, Any] = {"disruption": "Evicted"}


@pytest.mark.parametrize(
    ("pods", "rank"),
    [
        ((crashed(0, at=NOW - 1), crashed(1, at=NOW - 3), crashed(2, at=NOW - 2)), 1),
        ((crashed(0, code=134), crashed(3), crashed(2)), 2),
        ((crashed(3, code=134), crashed(1, code=134)), 1),
        ((pod(0, phase=PodPhase.FAILED), crashed(3)), 3),
        ((crashed(1, at=0), crashed(3)), 3),
        ((crashed(0, at=NOW - 9, terminating=True), crashed(2, at=NOW - 1)), 2),
        ((crashed(1, at=NOW - 1, **LOST), crashed(2, at=NOW - 2, **LOST), crashed(3, at=NOW - 3, **LOST)), 3),
    ],
    ids=[
        "the earliest", "SIGABRT sorts last", "ranks ascend", "no exit", "the kubelet does not know when",
        "a failure before that of a deleted pod", "the earliest disrupted one",
    ],
)  # fmt: skip
def test_the_first_failure_is_the_cause(pods: tuple[Pod, ...], rank: int) -> None:
    assert first(*pods).rank == rank


def test_a_disruption_goes_before_the_failures_it_brought_about() -> None:
    cause = first(crashed(0, at=NOW - 9), pod(2, disruption="Preempted", terminating=True))
    assert (cause.rank, cause.reason, cause.disruption) == (2, "Preempted", True)


def test_an_announced_disruption_is_not_one_yet() -> None:
    assert restart.first_cause(case(pod(2, disruption="Preempted"))) is None


def test_a_deleted_member_is_a_cause() -> None:
    cause = first(pod(1, terminating=True))
    assert (cause.rank, cause.reason, cause.disruption) == (1, "PodDeleted", True)
    assert first(crashed(3, terminating=True)).rank == 3
    assert first(crashed(3, terminating=True), pod(1, terminating=True)).rank == 3


@pytest.mark.parametrize(
    "shown",
    [{"terminating": True}, {"disruption": "Evicted", "terminating": True}, {"phase": PodPhase.FAILED}],
    ids=["deleted", "evicted", "failed without a time"],
)
def test_a_cause_is_of_the_records_epoch_and_of_now(shown: dict[str, Any]) -> None:
    cause = first(pod(1, epoch=2, **shown), epoch=2)
    assert (cause.epoch, cause.at) == (2, NOW)


def test_pods_of_older_epochs_are_no_cause() -> None:
    assert restart.first_cause(case(crashed(0, epoch=0), epoch=1)) is None


@pytest.mark.parametrize(("name", "which"), [("bug", "failure rule bug"), ("", "a failure rule")])
def test_a_rule_that_ends_the_experiment_is_named_before_the_failure(name: str, which: str) -> None:
    story = Story(plan(rules=(FailureRule(FailureAction.FAIL_EXPERIMENT, name=name),))).assemble()
    story.end(1, 3)
    story.look()
    assert (story.kept.phase, story.kept.reason) == (Phase.FAILED, "FailureRule")
    assert story.kept.message.endswith(f"; {which} ends the experiment")
    assert " ended with exit code 3" in story.kept.message


def test_a_member_that_is_gone_counts_once_the_live_api_has_said_so() -> None:
    gone = Cause(1, "PodDeleted", "a member's pod is gone", NOW, disruption=True)
    assert restart.first_cause(case(lost=1, epoch=1, scheduled_at=NOW)) == gone
    assert restart.first_cause(case(lost=0, epoch=1, scheduled_at=NOW)) is None
    assert restart.first_cause(case(epoch=1)) is None  # not complete: simply created again


def test_a_member_that_is_gone_is_named_with_the_pod_and_the_node_that_were_known() -> None:
    context = case(*(pod(rank, epoch=1, node="node-a") for rank in range(4)), lost=1, epoch=1, scheduled_at=NOW)
    seen = view_of(context)
    seen.change(pod(2, epoch=1, node="node-b"), None)
    cause = sure(restart.first_cause(context))
    assert (cause.rank, cause.node, cause.disruption) == (2, "node-b", True)
    assert sentence(cause) == f"rank 2 ({cause.pod}) ended (PodDeleted) on node node-b: the member's pod is gone"
    seen.engine.lost_ranks = (1,)  # what the live API says goes before what vanished here, which may be there
    cause = sure(restart.first_cause(context))
    assert (cause.rank, cause.node, cause.uid) == (1, "node-a", pod(1, epoch=1).uid)


@pytest.mark.parametrize("limit", [0, 3])
def test_no_restart_is_charged_before_a_live_read(limit: int) -> None:
    """Of a preemption the cache may have missed the one event that tells of it."""
    broken = (crashed(1, resource_version=40), crashed(2, resource_version=50))
    assert restart.judge(case(*broken, limit=limit, looked=None)) == ReadFirst()
    assert restart.judge(case(*broken, limit=limit, looked=39)) == ReadFirst()
    assert isinstance(restart.judge(case(*broken, limit=limit, looked=40)), Restart if limit else Fail)


def test_a_disruption_needs_no_budget_and_no_live_read() -> None:
    """It costs nothing, whatever else has happened."""
    assert isinstance(restart.judge(case(pod(2, terminating=True), restarts=9, limit=0)), Restart)
    assert isinstance(restart.judge(case(crashed(0), pod(2, terminating=True), looked=None)), ReadFirst)
    assert isinstance(restart.judge(case(crashed(0), pod(2, terminating=True, disruption="X"), looked=None)), Restart)
    assert isinstance(restart.judge(case(pod(2, terminating=True), looked=None)), Restart)


def test_survivors_of_a_member_that_is_gone_are_not_the_cause() -> None:
    """A daemon that was away while a member was preempted finds the others aborted and that one's pod gone."""
    aborted = [pod(rank, phase=PodPhase.FAILED, exit=Exit("main", 134, 6, "Error", "", NOW)) for rank in range(3)]
    assert restart.first_cause(case(*aborted, scheduled_at=NOW)) is None
    cause = sure(restart.first_cause(case(*aborted, lost=0, scheduled_at=NOW)))
    assert (cause.reason, cause.disruption) == ("PodDeleted", True)
    failed = pod(0, phase=PodPhase.FAILED, exit=Exit("main", 1, 0, "Error", "", NOW))
    cause = sure(restart.first_cause(case(failed, *aborted[1:], scheduled_at=NOW)))
    assert (cause.rank, cause.disruption) == (0, False)


def test_sigabrt_is_the_cause_when_no_other_member_is_missing() -> None:
    """The program aborted by itself; and where the kubelet does not say when, it is as if just now."""
    others = [pod(rank, epoch=2) for rank in (0, 1, 3)]
    cause = first(crashed(2, code=134, at=0.0, epoch=2), *others, epoch=2, scheduled_at=NOW)
    assert (cause.rank, cause.exit_code, cause.disruption) == (2, 134, False)
    assert (cause.epoch, cause.at) == (2, NOW)


def test_a_deleted_pod_that_has_ended_is_still_a_disruption() -> None:
    """What a daemon sees that was away, or whose watch was renewed, between the deletion and the end."""

    def ended(code: int, reason: str = "Error") -> Cause:
        killed = pod(3, terminating=True, phase=PodPhase.FAILED, exit=Exit("main", code, 0, reason, "", NOW))
        survivors = [pod(rank, phase=PodPhase.FAILED, exit=Exit("main", 134, 6, "Error", "", NOW)) for rank in range(3)]
        return sure(restart.first_cause(case(*survivors, killed, scheduled_at=NOW)))

    assert [(ended(code).rank, ended(code).disruption) for code in (143, 137)] == [(3, True), (3, True)]
    assert not ended(137, "OOMKilled").disruption
    assert not ended(1).disruption


@pytest.mark.parametrize("code", [0, 1, 143, 137])
@pytest.mark.parametrize(
    ("by", "reason"),
    [({"terminating": True}, "PodDeleted"), ({"disruption": "EvictionByEvictionAPI"}, "EvictionByEvictionAPI")],
)
def test_a_deleted_member_that_obeys_sigterm_with_any_exit_code_is_a_disruption(
    by: dict[str, Any], reason: str, code: int
) -> None:
    """As a daemon finds it that was away when the pod was deleted."""
    cause = first(crashed(2, code=code, at=NOW - 5, stopped_at=NOW - 6, **by), crashed(0, 134, NOW - 5))
    assert (cause.rank, cause.reason, cause.disruption) == (2, reason, True)


def test_a_member_that_failed_before_it_was_deleted_is_charged() -> None:
    cause = first(crashed(2, at=NOW - 7, terminating=True, stopped_at=NOW - 6))
    assert (cause.rank, cause.reason, cause.disruption, cause.exit_code) == (2, "Error", False, 1)


@pytest.mark.parametrize("reason", ["Evicted", "DeadlineExceeded"])
def test_a_member_that_the_kubelet_ends_for_its_own_excess_is_charged_in_the_kubelets_words(reason: str) -> None:
    said = 'Usage of EmptyDir volume "shm" exceeds the limit "64Mi". '
    cause = first(crashed(1, code=137, waiting_reason=reason, waiting_message=said))
    assert (cause.rank, cause.reason, cause.message, cause.disruption) == (1, reason, said, False)
