"""What is known of one container, and the three states a kubelet reports of it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from muster.local.node import timestamps

OUT_OF_MEMORY = "OOMKilled"
UNKNOWN = {
    "exitCode": 137,
    "reason": "ContainerStatusUnknown",
    "message": "The container could not be located when the pod was terminated",
}
"""The state of a container whose end nobody saw (pkg/kubelet/status/status_manager.go)."""

START_FAILED = 128
"""containerd's exit code of a container that could not be started."""


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    """A ContainerState that waits."""
    return {"waiting": {"reason": reason} | ({"message": message} if message else {})}


def running(started: int) -> dict[str, Any]:
    """A ContainerState that runs since `started` (nanoseconds since 1970)."""
    return {"running": {"startedAt": timestamps.time(started)}}


def terminated(
    exit_code: int, *, started: int, finished: int, container_id: str, reason: str, signal: int = 0, message: str = ""
) -> dict[str, Any]:
    """A ContainerState that has ended; times are in nanoseconds since 1970."""
    state: dict[str, Any] = {"exitCode": exit_code, "reason": reason}
    if signal:
        state["signal"] = signal
    if message:
        state["message"] = message
    state |= {"startedAt": timestamps.time(started), "finishedAt": timestamps.time(finished)}
    if container_id:
        state["containerID"] = container_id
    return {"terminated": state}


def exit_of(wait_status: int) -> tuple[int, int]:
    """(exit code, signal) of a wait status. A signal n is also exit code 128 + n, as a shell and containerd have it."""
    code = os.waitstatus_to_exitcode(wait_status)
    return (128 - code, -code) if code < 0 else (code, 0)


@dataclass(slots=True)
class ContainerRecord:
    """One container of a pod, as its status shows it. Changed by its runner, read by `status.pod_status`."""

    name: str
    image: str
    init: bool = False
    sidecar: bool = False
    state: dict[str, Any] = field(default_factory=lambda: waiting("PodInitializing"))
    last: dict[str, Any] = field(default_factory=dict)
    restarts: int = 0
    ready: bool = False
    started: bool = False
    container_id: str = ""

    @property
    def exit_code(self) -> int | None:
        """Of the ended state; None while it has not ended."""
        ended = self.state.get("terminated")
        return None if ended is None else int(ended["exitCode"])

    def as_status(self) -> dict[str, Any]:
        """The entry of containerStatuses or initContainerStatuses."""
        return {
            "name": self.name,
            "image": self.image,
            "imageID": "",
            "state": self.state,
            "lastState": self.last,
            "restartCount": self.restarts,
            "ready": self.ready,
            "started": self.started,
            **({"containerID": self.container_id} if self.container_id else {}),
        }

    def settle(self) -> None:
        """The pod is over: what was waiting will never run."""
        self.ready = False
        self.started = False
        if "terminated" not in self.state:
            self.state = self.last if self.last else {"terminated": dict(UNKNOWN)}
