"""Sentences for people: what ended an epoch, and why a member is not there."""

from typing import Any

import pytest
from msgspec.structs import replace

from muster.api.gang import Attempts
from muster.api.last_words import Child
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.classifier import why_missing
from muster.state.facts.failure_cause import cause_of
from muster.state.facts.sentences import expected_name, of_last_failure, of_lingering, sentence, share, why_idle
from muster.state.vocabulary.group import Group, Member, ProbeKind
from muster.state.vocabulary.pod import Exit, Pod, PodPhase, PodSpec
from muster.state.vocabulary.record import Cause, Phase
from tests.builders import NOW, plan, pod, record, view, worker_group

KILLED = Exit("main", 137, 9, "OOMKilled", "out of memory", NOW - 5)


def case(*pods: Pod) -> Context:
    return Context.at(plan(), record(), view(*pods), NOW)


def cause(dead: Pod, epoch: int = 0) -> Cause:
    return cause_of(Context.at(plan(), record(epoch=epoch), view(dead), NOW), dead)


def test_a_failed_container_is_the_cause_with_all_that_is_known_of_it() -> None:
    dead = pod(2, phase=PodPhase.FAILED, exit=KILLED)
    assert cause(dead, 4) == Cause(
        epoch=4, reason="OOMKilled", message="", at=NOW - 5, pod=dead.name, uid=dead.uid, group="worker",
        rank=2, container="main", node="node-2", exit_code=137, signal=9, disruption=False,
    )  # fmt: skip
    assert cause(pod(exit=Exit("side", 3, 0, "", "", 0.0))).at == NOW, "the kubelet does not always know the time"


def test_a_member_that_was_out_of_memory_has_its_limit_as_the_message() -> None:
    limited = worker_group(4, pod=PodSpec("demo:1", "train", limits={"memory": "6G"}))
    of = plan(groups=(limited,))
    dead = pod(2, phase=PodPhase.FAILED, exit=Exit("main", 137, 0, "OOMKilled", "hello", NOW, False, "hello"))
    found = cause_of(Context.at(of, record(), view(dead), NOW), dead)
    assert (found.message, found.last_line) == ("memory limit 6G", "hello")
    beside = pod(2, phase=PodPhase.FAILED, exit=Exit("proxy", 137, 0, "OOMKilled", "", NOW, False, ""))
    assert cause_of(Context.at(of, record(), view(beside), NOW), beside).message == ""


@pytest.mark.parametrize(
    ("code", "explains", "message", "last_line"),
    [
        (1, True, "ValueError: bad", ""),
        (3, True, "ValueError: bad", ""),
        (134, True, "ValueError: bad", ""),
        (137, True, "", "hello"),
        (139, True, "", "hello"),
        (1, False, "", "hello"),
    ],
)
def test_the_last_words_are_the_message_where_they_explain_the_end(
    code: int, explains: bool, message: str, last_line: str
) -> None:
    """The log of a program that was killed says nothing of the kill: its traceback is one that was caught."""
    found = cause(pod(exit=Exit("main", code, 0, "Error", "ValueError: bad", NOW, explains, "hello")))
    assert (found.message, found.last_line) == (message, last_line)


@pytest.mark.parametrize(
    ("child", "explains", "message"),
    [
        (Child(1, 1), True, "ValueError: bad"),
        (Child(-9, 1), False, "its process of rank 1 was ended by signal 9 (SIGKILL)"),
        (Child(3), False, "a process that it started ended with exit code 3"),
    ],
)
def test_behind_a_launcher_the_message_is_the_programs_exception_else_how_its_process_ended(
    child: Child, explains: bool, message: str
) -> None:
    found = cause(pod(exit=Exit("main", 1, 0, "Error", "ValueError: bad", NOW, explains, "", "", child)))
    assert (found.message, found.last_line, found.exit_code) == (message, "", 1)


DELETED = "the pod was deleted while its gang was at work"


@pytest.mark.parametrize(
    ("seen", "reason", "message", "disruption", "code"),
    [
        ({}, "ContainerFailed", "", False, None),
        ({"exit": Exit("side", 3, 0, "", "", 0.0)}, "Error", "", False, 3),
        ({"phase": PodPhase.FAILED}, "PodFailed", "", False, None),
        (
            {"phase": PodPhase.FAILED, "waiting_reason": "DeadlineExceeded", "waiting_message": "too long"},
            "DeadlineExceeded", "too long", False, None,
        ),
        ({"exit": KILLED, "disruption": "Evicted", "waiting_message": "low disk"}, "Evicted", "low disk", True, 137),
        ({"exit": KILLED, "terminating": True}, "OOMKilled", "", False, 137),
        ({"terminating": True}, "PodDeleted", DELETED, True, None),
        ({"exit": Exit("main", 0, 0, "Completed", "", NOW), "terminating": True}, "PodDeleted", DELETED, True, 0),
    ],
)  # fmt: skip
def test_of_what_a_pod_shows_the_most_decisive_is_the_cause(
    seen: dict[str, Any], reason: str, message: str, disruption: bool, code: int | None
) -> None:
    found = cause(pod(**seen))
    assert (found.reason, found.message, found.disruption, found.exit_code) == (reason, message, disruption, code)


def test_a_cause_has_the_place_of_its_member_where_there_are_several_groups() -> None:
    assert cause(pod(1)).place == ""
    groups = (Group("head", 1, 1, PodSpec(), 0), Group("gpu", 1, 2, PodSpec(), 1, first_job=1))
    dead = pod(2, group="gpu", index=1)
    two = Context.at(plan(groups=groups, coordinator=None), record(), view(dead), NOW)
    assert cause_of(two, dead).place == "gpu-1"


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        (Cause(0, "OOMKilled", "", NOW, pod="p-2", rank=2, exit_code=137, signal=9, node="a"),
         "rank 2 (p-2) ended with exit code 137 (SIGKILL), OOMKilled on node a"),
        (Cause(0, "OOMKilled", "limit 6G", NOW, pod="p-2", rank=2, exit_code=137, node="a", last_line="step 3"),
         "rank 2 (p-2) ended with exit code 137 (SIGKILL), OOMKilled on node a: limit 6G; last line \"step 3\""),
        (Cause(0, "Error", "", NOW, pod="p-2", rank=2, exit_code=139, signal=11),
         "rank 2 (p-2) ended with exit code 139 (SIGSEGV)"),
        (Cause(0, "Error", "", NOW, pod="p-2", rank=2, exit_code=130),
         "rank 2 (p-2) ended with exit code 130 (SIGINT)"),
        (Cause(0, "Error", "", NOW, pod="p-2", rank=2, exit_code=192, signal=99),
         "rank 2 (p-2) ended with exit code 192 (signal 99)"),
        (Cause(0, "Error", "", NOW, pod="p-2", rank=2, exit_code=255), "rank 2 (p-2) ended with exit code 255"),
        (Cause(0, "Hung", "no step", NOW, evidence="rank 0 (p-0) ended with exit code 1", known_for=1740),
         "the gang was blocked for 29m (Hung: no step); then rank 0 (p-0) ended with exit code 1"),
        (Cause(0, "Hung", "no step", NOW, pod="p-2", rank=2, evidence="rank 0 (p-0) ended with exit code 1"),
         "rank 2 (p-2) blocked the gang (Hung: no step); then rank 0 (p-0) ended with exit code 1"),
        (Cause(0, "ImagePull", "no such image", NOW, pod="p-2", rank=2, ranks="2-4,7", evidence="cancelled"),
         "ranks 2-4, 7 (first: p-2) blocked the gang (ImagePull: no such image); then cancelled"),
        (Cause(0, "Error", "boom", NOW, pod="p-2", rank=2, exit_code=1), "rank 2 (p-2) ended with exit code 1: boom"),
        (Cause(0, "Error", "", NOW, pod="p-2", rank=2, exit_code=1, place="gpu-1"),
         "rank 2 (gpu-1, p-2) ended with exit code 1"),
        (Cause(0, "Error", "", NOW, pod="p-2", rank=2, exit_code=1, container="main"),
         "rank 2 (p-2) ended with exit code 1"),
        (Cause(0, "Error", "", NOW, pod="p-2", rank=2, exit_code=2, container="fetch", node="a"),
         "rank 2 (p-2) ended with exit code 2 in container fetch on node a"),
        (Cause(0, "ContainerFailed", "", NOW, pod="p-2", rank=2, exit_code=1), "rank 2 (p-2) ended with exit code 1"),
        (Cause(0, "", "", NOW, pod="p-2", rank=2, exit_code=1), "rank 2 (p-2) ended with exit code 1"),
        (Cause(0, "RankFailed", "no heartbeats", NOW, pod="p-2", rank=2),
         "rank 2 (p-2) was lost to the others (RankFailed): no heartbeats"),
        (Cause(0, "Evicted", "", NOW, pod="p-2", rank=2, exit_code=0, node="a"),
         "rank 2 (p-2) ended (Evicted) on node a"),
        (Cause(0, "PodDeleted", "a member's pod is gone", NOW), "PodDeleted: a member's pod is gone"),
    ],
)  # fmt: skip
def test_a_cause_reads_as_one_line(cause: Cause, text: str) -> None:
    assert sentence(cause) == text


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"phase": PodPhase.PENDING, "waiting_reason": "Unschedulable", "waiting_message": "0/8 nodes have gpu"},
         "Pending: Unschedulable, 0/8 nodes have gpu"),
        ({"phase": PodPhase.PENDING, "scheduled": False}, "Pending: not scheduled yet"),
        ({"phase": PodPhase.PENDING}, "Pending: ContainerCreating"),
        ({"waiting_reason": "CrashLoopBackOff"}, "Running: CrashLoopBackOff"),
    ],
)  # fmt: skip
def test_an_idle_pod_says_why(changes: dict[str, Any], text: str) -> None:
    assert why_idle(pod(**changes)) == text


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"exit": KILLED}, "failed, OOMKilled 137"),
        ({"exit": Exit("main", 3, 0, "", "", 0.0)}, "failed, exit 3"),
        ({"phase": PodPhase.FAILED}, "failed"),
        ({"phase": PodPhase.SUCCEEDED}, "ended without calling the coordinator"),
        ({"terminating": True}, "being deleted"),
        ({}, "running, but it has not called the coordinator"),
        ({"started": False, "phase": PodPhase.PENDING, "waiting_reason": "ErrImagePull"}, "Pending: ErrImagePull"),
        ({"waiting_reason": "CrashLoopBackOff"}, "Running: CrashLoopBackOff"),
        ({"cut_off": True, "ready": False}, "running, but its node node-2 is not ready"),
        ({"phase": PodPhase.UNKNOWN, "ready": False}, "the kubelet of node node-2 does not report"),
    ],
)  # fmt: skip
def test_a_missing_rank_is_explained_by_its_pod(changes: dict[str, Any], why: str) -> None:
    lost = pod(2, **changes)
    assert why_missing(case(lost), 2) == f"rank 2 ({lost.name}, {why})"


def test_a_rank_without_a_pod_is_named_by_the_pod_it_will_have() -> None:
    here = case()
    assert why_missing(here, 2) == f"rank 2 ({plan().pod_name(Member('worker', 0, 2, 2), 0)}, no pod yet)"
    assert why_missing(here, 9) == "rank 9 (no such member, no pod yet)"
    assert expected_name(here, None) == "no such member"


def test_a_member_whose_pod_is_gone_is_not_reported_to_have_none_yet() -> None:
    here = Context.at(plan(), record(scheduled_at=NOW), view(pod(0), pod(1), pod(3)), NOW)
    assert why_missing(here, 2).endswith(", its pod is gone)")


def test_a_running_member_is_not_reported_to_owe_a_coordinator_a_call_where_none_can_be_asked() -> None:
    lost = pod(2, ready=False)
    here = Context.at(plan(probe=ProbeKind.NONE), record(), view(lost), NOW)
    assert why_missing(here, 2) == f"rank 2 ({lost.name}, running, but not ready)"


def test_pods_of_older_epochs_are_counted_and_the_first_is_named() -> None:
    first, second = pod(0, epoch=1), pod(1, epoch=2, node="")
    assert of_lingering(case()) == "pods of older epochs"
    assert of_lingering(case(first)) == f"1 pod of an older epoch ({first.name} on node node-0)"
    assert of_lingering(case(second)) == f"1 pod of an older epoch ({second.name})"
    assert of_lingering(case(first, second)) == f"2 pods of older epochs (first: {first.name} on node node-0)"
    assert of_lingering(case(second, first)) == f"2 pods of older epochs (first: {second.name})"


@pytest.mark.parametrize(
    ("here", "size", "text"),
    [
        (0, 4, "0/4"), (3, 4, "3/4"), (15, 16, "15/16"), (0, 17, "fewer than 9 of 17"), (8, 17, "fewer than 9 of 17"),
        (9, 17, "9 to 16 of 17"), (17, 17, "17/17"), (255, 512, "fewer than 256 of 512"),
        (256, 512, "256 to 511 of 512"), (511, 512, "256 to 511 of 512"), (6, 4, "6/4"),
    ],
)  # fmt: skip
def test_the_count_of_a_large_gang_is_reported_by_halves(here: int, size: int, text: str) -> None:
    assert share(here, size) == text


FAILED = Cause(0, "Error", "boom", NOW, pod="p-2", rank=2, exit_code=1)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ({}, "rank 2 (p-2) ended with exit code 1: boom"),
        ({"attempts": (Attempts("2", 1),)},
         "rank 2 (p-2) ended with exit code 1: boom; it runs again, and the others continue"),
        ({"ignored": "2"}, "rank 2 (p-2) ended with exit code 1: boom; it is not run again"),
        ({"epoch": 1, "phase": Phase.RESTARTING}, "epoch 0 ended because rank 2 (p-2) ended with exit code 1: boom"),
        ({"phase": Phase.FAILED, "cause": replace(FAILED, final=True)},
         "epoch 0 ended because rank 2 (p-2) ended with exit code 1: boom"),
        ({"phase": Phase.FAILED, "message": "cancelled by spec.cancel", "attempts": (Attempts("2", 1),)},
         "rank 2 (p-2) ended with exit code 1: boom; it runs again, and the others continue"),
        ({"cause": None}, ""),
    ],
)  # fmt: skip
def test_an_epoch_is_reported_to_have_ended_where_it_did(status: dict[str, Any], words: str) -> None:
    assert of_last_failure(record(**{"phase": Phase.RUNNING, "cause": FAILED, **status})) == words
