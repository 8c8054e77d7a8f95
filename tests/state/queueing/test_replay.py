"""Recorded lives of Workloads: at each moment the phase, the sentence and the actions."""

import pytest
from msgspec.structs import replace

from muster.api.names import FINALIZER_QUOTA
from muster.state.vocabulary.actions import (
    DeleteWorkload,
    EnsureWorkload,
    MoveWorkload,
    PatchWorkloadStatus,
    ReleaseWorkload,
)
from muster.state.vocabulary.plan import Queue
from muster.state.vocabulary.record import ConditionType, Phase
from muster.state.vocabulary.workload import Workload
from tests.builders import sure
from tests.state.queueing.replay import TRACES, QueueStory, conditions, moments, queued_plan, written


def workloads(trace: str, name: str) -> list[Workload | None]:
    """The states of one Workload in a trace."""
    found: list[Workload | None] = []
    uid = ""
    for moment in moments(trace):
        if moment.workload is not None and moment.workload.name == name:
            uid = moment.uid
            found.append(moment.workload)
        elif moment.uid and moment.uid == uid and moment.workload is None:
            found.append(None)
    return found


def story(name: str) -> QueueStory:
    """An experiment whose Workload has that name, before Kueue has seen it."""
    one = QueueStory(queued_plan(name))
    assert one.turn() == ("EnsureWorkload",)
    assert (one.kept.phase, one.kept.reason, one.running) == (Phase.QUEUED, "Queued", 0)
    assert one.kept.message == "queued: its Workload is about to be made"
    return one


def see(one: QueueStory, workload: Workload | None, after: float = 1.0) -> tuple[str, ...]:
    one.see(workload, *one.view.workloads)
    return one.turn(after)


def said(one: QueueStory) -> str:
    """The message, once the words have followed."""
    one.turn(13)
    return one.kept.message


def test_a_preempted_gang_goes_gives_its_quota_back_and_comes_again() -> None:
    made, admitted, ready, evicted, released, waiting, unready, again, finished, gone = workloads("preempted", "own")
    one = story("own")

    see(one, made)
    assert said(one) == "queued in q: Kueue has not taken up its Workload own yet"
    assert one.running == 0

    assert see(one, admitted) == ("ReadAdmission", "PatchWorkloadStatus")
    assert (one.kept.phase, one.running) == (Phase.RUNNING, 4)
    assert written(one.patch()) == conditions(sure(ready))
    assert see(one, ready) == ()

    one.lag = True
    assert see(one, evicted) == (), "quota is not given back while a pod may run"
    assert (one.kept.phase, one.kept.epoch, one.running) == (Phase.QUEUED, 1, 4)
    assert one.kept.message.startswith("evicted from q (Preempted): Preempted to accommodate a workload (UID: 60651faa")
    assert "waiting for 4 pods of older epochs (first: run-worker-0-0-" in one.kept.message
    one.lag = False
    assert one.turn() == ("PatchWorkloadStatus",)
    patch = one.patch()
    assert patch.release
    assert written(patch) == conditions(sure(released)) | {"PodsReady": ("False", "WaitForStart")}
    assert patch.workload.resource_version == sure(evicted).resource_version

    assert see(one, released) == ()
    assert see(one, waiting) == ()
    assert said(one) == (
        "queued in q: couldn't assign flavors to pod set worker: insufficient unused quota for cpu in flavor standard, "
        "4 more needed"
    )
    assert (one.kept.restarts, one.kept.disruptions, one.kept.consecutive_disruptions) == (0, 1, 0)
    assert one.condition(ConditionType.STUCK) == (False, "NotStuck")

    see(one, unready)
    assert see(one, again) == ("ReadAdmission", "PatchWorkloadStatus")
    assert (one.kept.phase, one.kept.epoch, one.running) == (Phase.RUNNING, 1, 4)

    for rank in range(4):
        one.end(rank)
    assert one.turn() == ("PatchWorkloadStatus",)
    assert one.kept.phase is Phase.SUCCEEDED
    assert written(one.patch())["Finished"] == ("True", "Succeeded")
    assert see(one, finished) == (), "this Workload has no finalizer of Muster's"
    assert see(one, gone) == ()
    turns = [reason for reason in one.told if reason not in ("Scheduled", "CoordinatorReady")]
    assert turns == ["Queued", "Admitted", "Running", "Evicted", "Admitted", "Running", "AllMembersSucceeded"]


def test_a_deactivated_gang_goes_at_once_and_waits_until_a_person_activates_it() -> None:
    states = workloads("deactivated", "off")
    made, admitted, off, evicted, released, waits, on, reactivated, behind, again = states[:10]
    one = story("off")
    see(one, made)
    see(one, admitted)
    assert one.running == 4

    one.lag = True
    see(one, off, after=0.01)
    assert one.kept.phase is Phase.QUEUED, "spec.active is false: Kueue gives the quota away before Evicted is read"
    assert sure(one.kept.cause).reason == "Deactivated"
    one.lag = False
    one.turn()
    assert one.running == 0
    assert see(one, evicted) == ("PatchWorkloadStatus",)
    assert written(one.patch()) == conditions(sure(released)) | {"PodsReady": ("False", "WaitForStart")}

    see(one, released)
    see(one, waits)
    assert one.condition(ConditionType.STUCK) == (True, "Deactivated")
    assert said(one) == "queued in q: The workload is deactivated; not in the queue again yet (Deactivated)"
    see(one, on)
    see(one, reactivated)
    see(one, behind)
    assert one.condition(ConditionType.STUCK) == (False, "NotStuck")
    see(one, again)
    assert (one.running, one.kept.epoch, one.kept.restarts) == (4, 1, 0)


@pytest.mark.parametrize(
    ("name", "reason", "words"),
    [("big", "ExceedsMaxQuota", "> maximum capacity (4)"), ("noq", "Misconfigured", "LocalQueue nosuch doesn't exist")],
)
def test_what_no_quota_can_ever_hold_is_stuck_with_kueues_reason(name: str, reason: str, words: str) -> None:
    one = story(name)
    for state in workloads("hopeless", name):
        see(one, state)
    assert (one.kept.phase, one.running) == (Phase.QUEUED, 0)
    assert one.condition(ConditionType.STUCK) == (True, reason)
    assert words in one.kept.message
    assert "Stuck" in one.told, "an Event says it"


def test_a_gang_that_is_not_ready_in_time_is_requeued_after_kueues_back_off() -> None:
    made, admitted, evicted, released, _, requeued, again, _ = workloads("pods-ready-timeout", "slow")
    one = story("slow")
    see(one, made)
    see(one, admitted)
    see(one, evicted)
    assert one.kept.phase is Phase.QUEUED
    assert one.patch().release
    assert written(one.patch()) == conditions(sure(released)) | {"PodsReady": ("False", "WaitForStart")}
    see(one, released)
    assert said(one).endswith("; not in the queue again yet (PodsReadyTimeout)")
    see(one, requeued)
    see(one, again)
    assert one.kept.phase is Phase.RUNNING


def test_a_stopped_queue_drains_the_gang_and_takes_it_back() -> None:
    made, admitted, ready, evicted, released, inactive, restarted, evaluated, again = workloads("drained", "dr")
    one = story("dr")
    for state in (made, admitted, ready):
        see(one, state)
    assert one.running == 4
    see(one, evicted)
    assert one.running == 0
    assert written(one.patch()) == conditions(sure(released)) | {"PodsReady": ("False", "WaitForStart")}
    see(one, released)
    see(one, inactive)
    assert said(one) == ("queued in q: ClusterQueue cq is inactive; not in the queue again yet (ClusterQueueStopped)")
    assert one.condition(ConditionType.STUCK) == (False, "NotStuck")
    see(one, restarted)
    see(one, evaluated)
    see(one, again)
    assert (one.kept.phase, one.kept.epoch) == (Phase.RUNNING, 1)


def test_a_gang_restart_keeps_quota_and_place() -> None:
    states = workloads("keeps-its-place", "first")
    one = story("first")
    for state in states[:7]:
        see(one, state)
    assert (one.kept.phase, one.kept.epoch) == (Phase.RUNNING, 1)
    one.end(2, 1)
    asked = len(one.asked)
    one.turn(1)
    assert one.kept.phase is Phase.RESTARTING
    assert written(one.patch())["PodsReady"] == ("False", "WaitForRecovery")
    recovering = sure(states[7])
    assert written(one.patch()) == conditions(recovering)
    see(one, recovering, after=0.5)
    one.turn(10)
    assert (one.kept.phase, one.kept.epoch, one.kept.restarts) == (Phase.RUNNING, 2, 1)
    assert [type(each).__name__ for each in one.asked[asked:]] == [
        "PatchWorkloadStatus", "ReadAdmission", "PatchWorkloadStatus"
    ]  # fmt: skip
    assert not any(isinstance(each, PatchWorkloadStatus) and each.release for each in one.asked[asked:])
    assert written(one.patch())["PodsReady"] == ("True", "Recovered")


def test_a_pending_workload_follows_the_label_to_another_queue() -> None:
    states = workloads("keeps-its-place", "second")
    one = QueueStory(queued_plan("second"))
    one.turn()
    see(one, states[0])
    see(one, states[1])
    one.plan = queued_plan("second", queue=Queue("nosuch", "low", "second"))
    assert one.turn() == ("MoveWorkload",)
    move = one.asked[-1]
    assert isinstance(move, MoveWorkload)
    assert move.queue == "nosuch"
    misconfigured = next(each for each in states if each and ("Misconfigured" in str(each.conditions)))
    see(one, misconfigured)
    assert one.condition(ConditionType.STUCK) == (True, "Misconfigured")


def test_a_workload_that_is_deleted_keeps_its_quota_until_no_pod_runs() -> None:
    made, admitted, ready, deleting, gone = workloads("finalizer", "fa")
    one = story("fa")
    for state in (made, admitted, ready):
        see(one, state)
    one.lag = True
    assert see(one, replace(sure(deleting), finalizers=(FINALIZER_QUOTA,))) == ()
    assert (one.kept.phase, one.running) == (Phase.QUEUED, 4)
    assert sure(one.kept.cause).reason == "WorkloadDeleted"
    one.lag = False
    assert one.turn() == ("ReleaseWorkload",)
    assert isinstance(one.asked[-1], ReleaseWorkload)
    assert see(one, gone) == (), "EnsureWorkload is equal to the first one"
    assert EnsureWorkload() in one.look()
    assert not any(isinstance(each, DeleteWorkload) for each in one.asked)


def test_every_trace_is_replayed() -> None:
    replayed = {"preempted", "deactivated", "hopeless", "pods-ready-timeout", "drained", "keeps-its-place", "finalizer"}
    assert {path.stem for path in TRACES.glob("*.jsonl")} == replayed
