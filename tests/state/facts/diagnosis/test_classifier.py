"""The cause of one member: what its pod, the coordinator, the API server and the record show, each case by itself."""

from typing import Any

import pytest
from msgspec.structs import replace

from muster.state.facts.causes.cause import MissingCause
from muster.state.facts.causes.table import Causes
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.classifier import of_pod, without_pod
from muster.state.view.engine_facts import Refusal
from muster.state.view.roll import CoordinatorState, RankState, RollAnswer
from muster.state.vocabulary.group import Group, ProbeKind
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Exit, PodPhase, PodSpec
from muster.state.vocabulary.record import Cause, Phase, Record
from muster.state.vocabulary.rules import Gate, GateCondition
from tests.builders import NOW, answer, plan, pod, record, view, view_of, worker_group
from tests.state.view.test_stage import CRASHED, END, NODELESS, WAITING

ARRIVED, MISSING, STALE = RankState.ARRIVED, RankState.MISSING, RankState.STALE
ASSEMBLING = record(phase=Phase.ASSEMBLING, scheduled_at=NOW)
NAME = pod(2).name
Said = tuple[MissingCause, str]


def context(*pods: Any, wanted: Plan | None = None, now: Record = ASSEMBLING, heard: Any = None) -> Context:
    return Context.at(wanted or plan(), now, view(*pods, heard=heard), NOW)


def said_of(
    seen: dict[str, Any], wanted: Plan | None = None, heard: RollAnswer | None = None
) -> tuple[MissingCause, str, str]:
    """Cause, words and evidence of rank 2, whose pod is like that."""
    member = pod(2, **seen)
    found = of_pod(context(pod(0), pod(1), member, pod(3), wanted=wanted, heard=heard), member)
    return found.cause, found.what, found.evidence


FETCH = {"holder": "init container fetch"}
NOT_STARTED: list[tuple[dict[str, Any], Said]] = [
    (NODELESS, (Causes.SCHEDULING, "no node yet")),
    (NODELESS | {"waiting_reason": "Unschedulable"}, (Causes.UNSCHEDULABLE, "no node fits")),
    (NODELESS | {"waiting_reason": "SchedulingGated"}, (Causes.QUEUED, "held by scheduling gates of the pod")),
    (WAITING | {"waiting_reason": "RunContainerError"},
     (Causes.CONTAINER_CANNOT_START, "the container cannot start: RunContainerError")),
    (WAITING | FETCH | {"waiting_reason": "CrashLoopBackOff"},
     (Causes.INIT_CONTAINER_FAILS, "init container fetch cannot start: CrashLoopBackOff")),
    (WAITING | FETCH, (Causes.INIT_CONTAINER, "init container fetch has not ended")),
    (WAITING | {"sandboxed": False}, (Causes.SANDBOX, "no volumes or no network yet")),
    (WAITING, (Causes.STARTING, "the container is being created")),
]  # fmt: skip


@pytest.mark.parametrize(("seen", "expected"), NOT_STARTED, ids=[words[0].value for _, words in NOT_STARTED])
def test_a_program_that_has_not_started_has_the_cause_that_its_pod_shows(seen: dict[str, Any], expected: Said) -> None:
    cause, what, evidence = said_of(seen)
    assert (cause, what) == expected
    assert evidence.startswith(f"pod {NAME}")
    assert "Pending: " in evidence


@pytest.mark.parametrize(
    ("message", "holder", "wanted", "image"),
    [
        ('Back-off pulling image "registry/typo:1"', "", plan(), "the image registry/typo:1"),
        ("not found", "", plan(), "the image example.org/train:1"),
        ("not found", "init container fetch", plan(), "its image"),
        ("not found", "", plan(groups=(worker_group(4, pod=PodSpec("", "")),)), "its image"),
        ("not found", "", plan(size=2), "its image"),
    ],
    ids=["the kubelet names it", "the plan names it", "an init container's", "the plan has none", "no such member"],
)
def test_the_image_is_of_the_kubelet_and_else_of_the_plan(message: str, holder: str, wanted: Plan, image: str) -> None:
    seen = WAITING | {"waiting_reason": "ErrImagePull", "waiting_message": message, "holder": holder}
    cause, what, evidence = said_of(seen, wanted)
    assert (cause, what) == (Causes.IMAGE_PULL, f"{image} cannot be pulled")
    assert message in evidence


OUT_OF_MEMORY = Exit("main", 137, 9, "OOMKilled", "warming up\nhello from 2/4", NOW, False, "hello from 2/4")
KILLED = replace(OUT_OF_MEMORY, reason="Error")
GONE = replace(KILLED, code=134, signal=0, message="UNAVAILABLE: gone", explains=True)
AT, LAST = f"pod {NAME} on node node-2", 'last line "hello from 2/4"'
ENDINGS: list[tuple[dict[str, Any], Said, str]] = [
    (CRASHED, (Causes.CRASHED, "ended with exit code 1"), AT),
    (CRASHED | {"exit": OUT_OF_MEMORY}, (Causes.OOM_KILLED, "killed: out of memory"), f"{AT}: {LAST}"),
    (CRASHED | {"exit": KILLED}, (Causes.CRASHED, "ended with exit code 137 (SIGKILL)"), f"{AT}: {LAST}"),
    (CRASHED | {"exit": GONE}, (Causes.CRASHED, "ended with exit code 134 (SIGABRT)"), f"{AT}: UNAVAILABLE: gone"),
    (CRASHED | {"exit": KILLED, "waiting_reason": "Evicted", "waiting_message": "exceeds the limit 64Mi"},
     (Causes.CRASHED, "the pod failed: Evicted"), f"{AT}: exceeds the limit 64Mi"),
    ({"phase": PodPhase.FAILED, "waiting_reason": "UnexpectedAdmissionError", "waiting_message": "no devices"},
     (Causes.CRASHED, "the pod failed: UnexpectedAdmissionError"), f"{AT}: no devices"),
    ({"phase": PodPhase.SUCCEEDED, "ready": False, "exit": END}, (Causes.ENDED, "ended with exit code 0"), AT),
    (NODELESS | {"terminating": True}, (Causes.TERMINATING, "the pod is being deleted"), f"pod {NAME}"),
    ({"terminating": True, "disruption": "PreemptionByScheduler", "waiting_message": "for team/big"},
     (Causes.EVICTED, "evicted (PreemptionByScheduler)"), f"{AT}: PreemptionByScheduler: for team/big"),
    ({"phase": PodPhase.FAILED, "ready": False, "disruption": "NodeLost"},
     (Causes.NODE_LOST, "node node-2 was lost"), f"{AT}: NodeLost"),
    ({"cut_off": True, "ready": False}, (Causes.NODE_NOT_READY, "node node-2 is not ready"),
     f"{AT} was marked not ready by its node's controller"),
    ({"phase": PodPhase.UNKNOWN, "ready": False}, (Causes.UNKNOWN, "the kubelet of node node-2 does not report"), AT),
]  # fmt: skip


@pytest.mark.parametrize(("seen", "expected", "evidence"), ENDINGS, ids=[words[1] for _, words, _ in ENDINGS])
def test_a_pod_that_ends_or_whose_node_is_away_has_the_cause_that_it_shows(
    seen: dict[str, Any], expected: Said, evidence: str
) -> None:
    assert said_of(seen) == (*expected, evidence)


def test_the_node_is_named_where_it_is_the_cause() -> None:
    for disruption, node in (("DeletionByTaintManager", "node-2"), ("EvictionByEvictionAPI", "")):
        member = pod(2, terminating=True, disruption=disruption)
        assert of_pod(context(member), member).node == node


def test_the_memory_limit_of_a_killed_member_goes_before_what_it_printed_last() -> None:
    limited = plan(groups=(worker_group(4, pod=PodSpec("demo:1", "train", limits={"memory": "6G"})),))
    *_, evidence = said_of(CRASHED | {"exit": replace(OUT_OF_MEMORY, signal=0)}, limited)
    assert evidence == f"{AT}: memory limit 6G; {LAST}"


CLOSED = RollAnswer(at=NOW, coordinator=CoordinatorState.REFUSED)
NOT_LISTED = answer(ARRIVED, ARRIVED, MISSING, ARRIVED)
EARLIER = (ARRIVED, ARRIVED, STALE, ARRIVED)
RAY, PASSIVE = plan(probe=ProbeKind.RAY), plan(probe=ProbeKind.NONE)
LOOPS = {"ready": False, "waiting_reason": "CrashLoopBackOff"}
EARLIER_LIFE = "known only to the coordinator that ran before this one"
RUNNING: dict[str, tuple[dict[str, Any], Plan, RollAnswer | None, MissingCause, str, str]] = {
    "a container beside it cannot start": (
        LOOPS | {"holder": "sidecar proxy", "restarts": 2}, plan(), None,
        Causes.SIDECAR_FAILS, "sidecar proxy cannot start: CrashLoopBackOff", "on node node-2"),
    "restarted once": (
        {"ready": False, "restarts": 1}, plan(), None,
        Causes.RESTARTED_IN_PLACE, "a container was restarted once", ": 1 restart"),
    "an init container was restarted": (
        {"ready": False, "restarts": 1, "last_exit": Exit("fetch", 1, 0, "Error", "", NOW)}, plan(), None,
        Causes.RESTARTED_IN_PLACE, "a container was restarted once",
        ": 1 restart; before the last one, fetch ended with exit code 1"),
    "restarted": (
        {"ready": False, "restarts": 3}, plan(), None,
        Causes.RESTARTED_IN_PLACE, "its containers were restarted 3 times", ": 3 restarts"),
    "restarted again and again": (
        LOOPS | {"restarts": 3}, plan(), None,
        Causes.RESTARTED_IN_PLACE, "a container restarts again and again: CrashLoopBackOff", ": 3 restarts"),
    "a coordinator that cannot be asked": (
        {"ready": False}, PASSIVE, None, Causes.NOT_ARRIVED, "running, but not ready", "its Ready is false"),
    "no coordinator": (
        {"ready": False}, plan(coordinator=None), None,
        Causes.NOT_ARRIVED, "running, but not ready", "its Ready is false"),
    "a coordinator that has never served": (
        {}, plan(), CLOSED, Causes.AWAITS_COORDINATOR, "waiting for the coordinator",
        "runs; the coordinator, rank 0, does not serve"),
    "not listed": (
        {"restarts": 1}, plan(), NOT_LISTED,
        Causes.NOT_ARRIVED, "running, but not registered with the coordinator", "has not heard of it"),
    "of an earlier life": (
        {}, plan(), answer(*EARLIER),
        Causes.GHOST, EARLIER_LIFE, "was not started again since; the coordinator does not know it"),
    "of an earlier life, which the coordinator describes": (
        {}, plan(), answer(*EARLIER, detail="2 of 4 nodes"),
        Causes.GHOST, EARLIER_LIFE, "was not started again since; 2 of 4 nodes"),
    "ready, and not listed by Ray": ({}, RAY, NOT_LISTED, Causes.GHOST, "ready, but not registered with Ray", ""),
    "not ready, and not listed by Ray": (
        {"ready": False}, RAY, NOT_LISTED, Causes.NOT_ARRIVED, "running, but not registered with the coordinator", ""),
}  # fmt: skip


@pytest.mark.parametrize(("seen", "wanted", "heard", "cause", "what", "evidence"), RUNNING.values(), ids=RUNNING.keys())
def test_a_program_that_runs_has_the_cause_that_its_pod_and_the_coordinator_show(
    seen: dict[str, Any], wanted: Plan, heard: RollAnswer | None, cause: MissingCause, what: str, evidence: str
) -> None:
    found = said_of(seen, wanted, heard)
    assert found[:2] == (cause, what)
    assert evidence in found[2]


def test_the_coordinator_that_is_at_fault_is_named_instead_of_its_rank() -> None:
    assert of_pod(context(pod(0), heard=CLOSED), pod(0)).cause is Causes.COORDINATOR_NOT_SERVING
    serving = context(pod(0), heard=answer(MISSING, MISSING, MISSING, MISSING))
    assert of_pod(serving, pod(0)).cause is Causes.NOT_ARRIVED


@pytest.mark.parametrize("heard", [None, NOT_LISTED], ids=["unasked", "silent"])
def test_a_ready_pod_is_no_ghost_while_ray_does_not_answer(heard: RollAnswer | None) -> None:
    now = record(phase=Phase.RUNNING, scheduled_at=NOW, assembled_at=NOW)
    seen = context(*(pod(rank) for rank in range(4)), wanted=RAY, now=now, heard=heard)
    if heard is not None:
        view_of(seen).observe_probe(RollAnswer(at=NOW + 1, coordinator=CoordinatorState.TIMEOUT), 0)
        seen = Context.at(seen.plan, seen.record, seen.view, seen.now)
    assert of_pod(seen, pod(2)).cause is Causes.NOT_ARRIVED


@pytest.mark.parametrize(
    ("reason", "cause", "words"),
    [
        ("QuotaExceeded", Causes.QUOTA_EXCEEDED, "the API server refuses what the pod needs: QuotaExceeded"),
        ("PriorityClassMissing", Causes.REFUSED, "the API server refuses what the pod needs: PriorityClassMissing"),
        ("OtherController", Causes.REFUSED, "Muster creates no pod: OtherController"),
        ("PodAltered", Causes.REFUSED, "Muster creates no pod: PodAltered"),
    ],
)
def test_a_refusal_is_the_cause_that_its_reason_names(reason: str, cause: MissingCause, words: str) -> None:
    seen = context(now=record())
    view_of(seen).engine.refusal = Refusal(reason, "no", final=False)
    assert without_pod(seen, 2) == (cause, words, "no", "")


def test_a_flavor_that_does_not_exist_is_no_refusal_of_the_pod() -> None:
    seen = context(now=record(phase=Phase.QUEUED))
    view_of(seen).engine.refusal = Refusal("FlavorMissing", "create it", final=False)
    assert without_pod(seen, 2)[:2] == (Causes.QUEUED, "waiting in a queue")


def test_a_rank_that_is_done_has_ended_though_its_pod_is_gone() -> None:
    known, now = view(), record(phase=Phase.RUNNING, scheduled_at=NOW, completed="2")
    known.remember(plan(), now, NOW)
    seen = Context.at(plan(), now, known, NOW)
    assert without_pod(seen, 2).cause is Causes.ENDED
    assert without_pod(seen, 1).cause is Causes.LOST


FAILED = Cause(0, "Error", pod="p-1", rank=1, exit_code=1)
OLD = f"1 pod of an older epoch ({pod(1).name} on node node-1)"
SERIAL = plan(probe=ProbeKind.NONE, groups=(Group("worker", 1, 4, PodSpec("x", "y"), 0, parallelism=1),))
GATED = plan(gates=(Gate(GateCondition.READY),))
HELD: dict[str, tuple[Context, MissingCause, str, str]] = {
    "not admitted": (
        context(now=record(phase=Phase.QUEUED)), Causes.QUEUED,
        "waiting in a queue", "queued: its Workload is about to be made"),
    "backs off": (
        context(now=record(phase=Phase.RESTARTING, epoch=1)), Causes.HELD_BACK,
        "waiting for the back-off", "epoch 1 is next"),
    "backs off after a failure": (
        context(now=record(phase=Phase.RESTARTING, epoch=1, cause=FAILED)), Causes.HELD_BACK,
        "waiting for the back-off", "epoch 1 is next; rank 1 (p-1) ended with exit code 1"),
    "pods of an older epoch": (
        context(pod(1), now=record(phase=Phase.RESTARTING, epoch=1)), Causes.HELD_BACK,
        "waiting for pods of an older epoch to terminate", OLD),
    "pods of an older epoch after the back-off": (
        context(pod(1), now=record(epoch=1)), Causes.HELD_BACK, "waiting for pods of an older epoch to terminate", OLD),
    "as many run as may run together": (
        context(pod(0), wanted=SERIAL), Causes.HELD_BACK, "waiting for a turn", "1 run at a time"),
    "a closed gate": (
        context(pod(0, **WAITING), wanted=GATED, now=record()), Causes.HELD_BACK,
        "waiting for another group or for the coordinator", "group worker waits for the coordinator to serve"),
}  # fmt: skip


@pytest.mark.parametrize(("seen", "cause", "what", "evidence"), HELD.values(), ids=HELD.keys())
def test_a_member_without_a_pod_has_the_cause_that_holds_it_back(
    seen: Context, cause: MissingCause, what: str, evidence: str
) -> None:
    assert without_pod(seen, 2)[:3] == (cause, what, evidence)


def test_a_member_that_nothing_holds_back_is_not_created_yet() -> None:
    for free in (context(wanted=SERIAL), context(pod(0), wanted=GATED, now=record())):
        assert without_pod(free, 2).cause is Causes.NOT_CREATED
    assert without_pod(context(now=record()), 9).cause is Causes.NOT_CREATED, "a rank beyond the plan"


def test_a_member_whose_pod_had_a_node_and_is_gone_is_lost() -> None:
    seen = context(pod(0), pod(2), now=record())
    view_of(seen).change(pod(2), None)
    assert without_pod(seen, 2).cause is Causes.LOST
    assert without_pod(seen, 1).cause is Causes.NOT_CREATED
