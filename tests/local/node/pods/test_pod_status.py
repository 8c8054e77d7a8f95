"""Phase, conditions and container statuses of a pod."""

from typing import Any

import pytest

from muster.local.node.containers.states import ContainerRecord, running, terminated, waiting
from muster.local.node.pods.assigned_pods import lost_status, was_started
from muster.local.node.pods.status_writer import PodState, phase, pod_status
from tests.local.node.harness import Pod, pod

RUNNING = running(0)
CRASHING = waiting("CrashLoopBackOff")
HELD = waiting("PodInitializing")


def ended(code: int = 0) -> Pod:
    reason = "Error" if code else "Completed"
    return terminated(code, started=0, finished=0, container_id="process://1", reason=reason)


def record(state: Pod, last: Pod | None = None, **fields: Any) -> ContainerRecord:
    return ContainerRecord(fields.pop("name", "main"), "image", state=state, last=last or {}, **fields)


@pytest.mark.parametrize(
    ("containers", "policy", "expected"),
    [
        ([record(waiting("ContainerCreating"))], "Never", "Pending"),
        ([record(RUNNING), record(waiting("ImagePullBackOff"))], "Never", "Pending"),
        ([record(RUNNING)], "Never", "Running"),
        ([record(RUNNING), record(ended(1))], "Never", "Running"),
        ([record(ended()), record(ended())], "Never", "Succeeded"),
        ([record(ended()), record(ended(1))], "Never", "Failed"),
        ([record(ended(1))], "OnFailure", "Running"),
        ([record(ended())], "OnFailure", "Succeeded"),
        ([record(ended())], "Always", "Running"),
        ([record(CRASHING, ended(1))], "Always", "Running"),
        ([record(RUNNING, init=True), record(HELD)], "Never", "Pending"),
        ([record(ended(1), init=True), record(HELD)], "Never", "Failed"),
        ([record(ended(1), init=True), record(HELD)], "Always", "Pending"),
        ([record(RUNNING, init=True, sidecar=True, started=True), record(RUNNING)], "Never", "Running"),
    ],
)
def test_the_phase_follows_from_the_containers(containers: list[ContainerRecord], policy: str, expected: str) -> None:
    assert phase(PodState(containers=containers), policy) == expected


def test_all_containers_of_a_pod_that_has_ended_are_terminated() -> None:
    state = PodState(containers=[record(ended()), record(CRASHING, ended(3)), record(waiting("ContainerCreating"))])
    for each in state.containers:
        each.settle()
    state.over = True
    assert [each.exit_code for each in state.containers] == [0, 3, 137]
    assert phase(state, "Always") == "Failed"


def conditions(status: dict[str, Any]) -> dict[str, tuple[str, str | None]]:
    return {each["type"]: (each["status"], each.get("reason")) for each in status["conditions"]}


def test_a_pod_is_ready_when_all_containers_and_readiness_gates_are() -> None:
    made = pod("p", readinessGates=[{"conditionType": "example.com/loaded"}])
    state = PodState(containers=[record(RUNNING, ready=True), record(RUNNING, name="slow")], sandboxed=True)
    status = pod_status(made, state, "now")
    assert conditions(status)["ContainersReady"] == ("False", "ContainersNotReady")
    assert "[slow]" in next(each for each in status["conditions"] if each["type"] == "Ready")["message"]
    state.containers[1].ready = True
    status = pod_status(made, state, "now")
    assert conditions(status)["ContainersReady"] == ("True", None)
    assert conditions(status)["Ready"] == ("False", "ReadinessGatesNotReady")
    made["status"] = {"conditions": [{"type": "example.com/loaded", "status": "True"}]}
    assert conditions(pod_status(made, state, "now"))["Ready"] == ("True", None)


def test_conditions_of_other_writers_are_kept_and_transition_times_change_with_the_status() -> None:
    made = pod("p")
    foreign = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "before"}
    made["status"] = {"conditions": [foreign, ready]}
    status = pod_status(made, PodState(containers=[record(RUNNING, ready=True)]), "now")
    assert foreign in status["conditions"]
    times = {each["type"]: each.get("lastTransitionTime") for each in status["conditions"]}
    assert (times["Ready"], times["ContainersReady"]) == ("before", "now")


def test_a_lost_pod_has_disruption_target_and_keeps_terminated_states() -> None:
    made = pod("p")
    assert not was_started(made)
    made["status"] = {
        "startTime": "2026-01-01T00:00:00Z",
        "containerStatuses": [
            {"name": "done", "state": ended(0)},
            {"name": "main", "state": RUNNING, "containerID": "process://7", "ready": True},
        ],
        "conditions": [{"type": "PodScheduled", "status": "True"}],
    }
    assert was_started(made)
    lost = lost_status(made, 0)
    first, second = lost["containerStatuses"]
    assert first["state"] == ended(0)
    assert second["state"]["terminated"]["reason"] == "ContainerStatusUnknown"
    assert not second["ready"]
    assert conditions(lost)["DisruptionTarget"] == ("True", "TerminationByKubelet")
    assert conditions(lost)["PodScheduled"] == ("True", None)
