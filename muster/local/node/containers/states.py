"""The state of a container: waiting, running or terminated, and the record that its status is made from.

Whether and when a container is restarted follows from its restart policy and CrashLoopBackOff, by the rules of
pkg/kubelet/container/helpers.go and client-go/util/flowcontrol/backoff.go: the first restart is immediate, the second
after 10 s; each later delay is twice the one before, up to five minutes. After a run of ten minutes the delays start
again.
"""

import os
from dataclasses import dataclass, field
from typing import Any

from muster.kube.workqueue import Backoff
from muster.local.node.objects import whole_time

OUT_OF_MEMORY = "OOMKilled"
UNKNOWN: dict[str, Any] = {
    "exitCode": 137,
    "reason": "ContainerStatusUnknown",
    "message": "The container could not be located when the pod was terminated",
}
"""The state of a container whose end was not observed (pkg/kubelet/status/status_manager.go)."""

START_FAILED = 128
"""The exit code that containerd reports for a container that could not be started."""


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    """Return a ContainerState that waits."""
    return {"waiting": {"reason": reason} | ({"message": message} if message else {})}


def running(started: int) -> dict[str, Any]:
    """Return a ContainerState that runs since `started` (nanoseconds since 1970)."""
    return {"running": {"startedAt": whole_time(started)}}


def terminated(
    exit_code: int, *, started: int, finished: int, container_id: str, reason: str, signal: int = 0, message: str = ""
) -> dict[str, Any]:
    """Return a ContainerState that has ended; times are in nanoseconds since 1970."""
    state = {"exitCode": exit_code, "startedAt": whole_time(started), "finishedAt": whole_time(finished)}
    optional = {"reason": reason, "signal": signal, "message": message, "containerID": container_id}
    return {"terminated": state | {name: value for name, value in optional.items() if value}}


def exit_of(wait_status: int) -> tuple[int, int]:
    """Exit code and signal of a wait status. For signal n the exit code is 128 + n, as with containerd."""
    code = os.waitstatus_to_exitcode(wait_status)
    return (128 - code, -code) if code < 0 else (code, 0)


@dataclass(slots=True)
class ContainerRecord:
    """One container of a pod, as its status shows it. Its runner changes it, `status_writer` reads it."""

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
        """Return the exit code; None while the container has not ended."""
        ended = self.state.get("terminated")
        return None if ended is None else int(ended["exitCode"])

    def as_status(self) -> dict[str, Any]:
        """Return the entry of containerStatuses or initContainerStatuses."""
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
        """Set the final state, when the pod has ended: a waiting container no longer runs."""
        self.ready = False
        self.started = False
        if "terminated" not in self.state:
            self.state = self.last if self.last else {"terminated": dict(UNKNOWN)}


INITIAL = 10.0
LONGEST = 300.0
RESET_AFTER = 600.0


def restarts(policy: str, exit_code: int) -> bool:
    """Return True if a restartPolicy restarts a container that has exited."""
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


class RestartDelays:
    """The restart delays of one container, in seconds."""

    def __init__(self, initial: float = INITIAL) -> None:
        self._backoff = Backoff(initial, LONGEST)
        self._restarted = False

    def after(self, ran_for: float) -> float:
        """Return the delay after a run of `ran_for` seconds."""
        if not self._restarted or ran_for >= RESET_AFTER:
            self._restarted = True
            self._backoff.reset()
            return 0.0
        return self._backoff.delay()
