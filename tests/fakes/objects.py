"""Kubernetes objects as an API server would send them."""

from typing import Any

from muster.api.names import API_VERSION


def pod(uid: str = "u1", version: int = 1, **status: Any) -> dict[str, Any]:
    """A member's pod; keyword arguments replace fields of its status."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"mnist-worker-0-{uid}",
            "namespace": "team",
            "uid": uid,
            "resourceVersion": str(version),
            "creationTimestamp": "2026-11-20T10:00:00Z",
            "labels": {
                "app.kubernetes.io/managed-by": "muster",
                "muster.dev/experiment": "mnist",
                "muster.dev/group": "worker",
                "muster.dev/job-index": "0",
                "muster.dev/pod-index": "2",
                "muster.dev/rank": "3",
                "muster.dev/epoch": "1",
                "team.example/unknown": "x",
            },
            "ownerReferences": [
                {"apiVersion": API_VERSION, "kind": "Experiment", "name": "mnist", "uid": "exp-1", "controller": True}
            ],
        },
        "spec": {"nodeName": "node-7", "restartPolicy": "Never", "containers": [{"name": "main", "image": "x"}]},
        "status": {
            "phase": "Running",
            "podIP": "10.0.0.7",
            "conditions": [
                {"type": "PodScheduled", "status": "True", "lastProbeTime": None},
                {"type": "Ready", "status": "True", "lastProbeTime": None},
            ],
            "containerStatuses": [
                {
                    "name": "main",
                    "ready": True,
                    "state": {"running": {"startedAt": "2026-11-20T10:00:05Z"}},
                    "lastState": {},
                }
            ],
            **status,
        },
    }


def terminated(
    code: int, finished: str = "2026-11-20T11:00:00Z", reason: str = "Error", message: str = ""
) -> dict[str, Any]:
    """A container state."""
    return {"terminated": {"exitCode": code, "reason": reason, "message": message, "finishedAt": finished}}


def container(name: str = "main", state: Any = None, last: Any = None) -> dict[str, Any]:
    """A container status."""
    return {"name": name, "state": state or {}, "lastState": last or {}}


def running(
    name: str = "main", *, ready: bool = True, ip: str = "10.0.0.1", since: str = "2026-01-01T00:00:00Z"
) -> Any:
    """The status of a pod whose container of that name runs."""
    return {
        "phase": "Running",
        "podIP": ip,
        "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": str(ready)}],
        "containerStatuses": [{"name": name, "ready": ready, "state": {"running": {"startedAt": since}}}],
    }


def ended(code: int, finished: str, name: str = "main") -> dict[str, Any]:
    """What of the status of a pod changes when its container of that name ends."""
    state = {"exitCode": code, "reason": "Error" if code else "Completed", "finishedAt": finished}
    return {
        "phase": "Failed" if code else "Succeeded",
        "containerStatuses": [{"name": name, "ready": False, "state": {"terminated": state}}],
    }
