"""The final status of a pod that an earlier run of the node agent started.

The launcher ends all processes with the agent, so such a pod has ended. Its status is that of a pod whose node was
rebooted: the end of its containers was not observed, and it has the condition DisruptionTarget.
"""

from __future__ import annotations

from typing import Any

from muster.local.node import objects, timestamps
from muster.local.node.containers.states import UNKNOWN
from muster.local.node.objects import Object

REASON = "Terminated"
MESSAGE = "The local node was restarted; the processes of the pod ended with its earlier run."


def was_started(pod: Object) -> bool:
    """Whether a kubelet had started the pod: only a kubelet sets startTime."""
    return bool(objects.status(pod).get("startTime"))


def lost_status(pod: Object, now: int) -> dict[str, Any]:
    """Phase Failed, all containers terminated, and DisruptionTarget, as after an eviction or a node shutdown."""
    status = objects.status(pod)
    stamp = timestamps.time(now)
    changed = {
        "Ready": ("False", "PodFailed"),
        "ContainersReady": ("False", "PodFailed"),
        "PodReadyToStartContainers": ("False", ""),
        "DisruptionTarget": ("True", "TerminationByKubelet"),
    }
    conditions = [dict(each) for each in status.get("conditions") or () if each.get("type") not in changed]
    for kind, (holds, reason) in changed.items():
        condition = {"type": kind, "status": holds, "lastTransitionTime": stamp}
        if reason:
            condition["reason"] = reason
        if kind == "DisruptionTarget":
            condition["message"] = MESSAGE
        conditions.append(condition)
    made: dict[str, Any] = {"phase": "Failed", "reason": REASON, "message": MESSAGE, "conditions": conditions}
    for kind in ("containerStatuses", "initContainerStatuses"):
        if kind in status:
            made[kind] = [_ended(each, stamp) for each in status[kind]]
    return made


def _ended(container: Object, stamp: str) -> dict[str, Any]:
    state: Object = container.get("state") or {}
    if "terminated" in state:
        return dict(container)
    ended: dict[str, Any] = UNKNOWN | {"finishedAt": stamp}
    if "running" in state:
        ended["startedAt"] = state["running"].get("startedAt")
        ended["containerID"] = container.get("containerID")
    return dict(container) | {"state": {"terminated": ended}, "ready": False, "started": False}
