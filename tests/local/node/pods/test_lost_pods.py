"""Pods of an earlier run of the agent."""

from typing import Any

from muster.local.node.containers.states import running, terminated
from muster.local.node.pods.assigned_pods import lost_status, was_started
from tests.local.node.harness import MakePod, Pod

RUNNING = running(0)


def ended(code: int = 0) -> Pod:
    return terminated(
        code, started=0, finished=0, container_id="process://1", reason="Completed" if not code else "Error"
    )


def conditions(status: dict[str, Any]) -> dict[str, tuple[str, str | None]]:
    return {each["type"]: (each["status"], each.get("reason")) for each in status["conditions"]}


def test_a_lost_pod_has_disruption_target_and_keeps_terminated_states(make_pod: MakePod) -> None:
    made = make_pod("p")
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
