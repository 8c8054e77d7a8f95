"""A pod's status from its containers: phase, conditions and container statuses.

The rules are those of pkg/kubelet/kubelet_pods.go (getPhase) and pkg/kubelet/status/generate.go.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from muster.local.node import objects
from muster.local.node.containers.states import ContainerRecord
from muster.local.node.objects import Object


@dataclass(slots=True)
class PodState:
    """Everything that a pod's status is made from, except the pod itself."""

    containers: list[ContainerRecord] = field(default_factory=list)
    address: str = ""
    host_address: str = ""
    started: str = ""
    sandboxed: bool = False
    reason: str = ""
    message: str = ""
    over: bool = False
    disrupted: str = ""

    @property
    def mains(self) -> list[ContainerRecord]:
        """Return the containers of spec.containers."""
        return [each for each in self.containers if not each.init]

    @property
    def inits(self) -> list[ContainerRecord]:
        """Return the containers of spec.initContainers."""
        return [each for each in self.containers if each.init]


def phase(state: PodState, policy: str) -> str:
    """Return Pending, Running, Succeeded or Failed."""
    if state.reason and state.over:
        return "Failed"
    failed_init = any(each.exit_code not in (None, 0) and not each.sidecar for each in state.inits)
    if failed_init and (policy == "Never" or state.over):
        return "Failed"
    if state.over:
        return "Succeeded" if all(each.exit_code == 0 for each in state.mains) else "Failed"
    if not initialized(state):
        return "Pending"
    if any("waiting" in each.state and not each.last for each in state.mains):
        return "Pending"
    if any("running" in each.state for each in state.containers) or policy == "Always":
        return "Running"  # also while only a sidecar is still ending
    codes = [each.exit_code for each in state.mains]
    if all(code == 0 for code in codes):
        return "Succeeded"
    if policy == "Never" and None not in codes:
        return "Failed"
    return "Running"


def initialized(state: PodState) -> bool:
    """Return True if all init containers have completed, and all sidecars have started."""
    return all(each.started if each.sidecar and each.exit_code is None else each.exit_code == 0 for each in state.inits)


def pod_status(pod: Object, state: PodState, now: str) -> dict[str, Any]:
    """Return the status to write. Other writers' conditions are kept; transition times change with the status only."""
    spec = objects.spec(pod)
    current = phase(state, str(spec.get("restartPolicy") or "Always"))
    made: dict[str, Any] = {
        "phase": current,
        "conditions": _conditions(pod, state, current, now),
        "hostIP": state.host_address,
        "hostIPs": [{"ip": state.host_address}],
        "containerStatuses": [each.as_status() for each in state.mains],
    }
    if state.started:
        made["startTime"] = state.started
    if state.address:
        made |= {"podIP": state.address, "podIPs": [{"ip": state.address}]}
    if state.inits:
        made["initContainerStatuses"] = [each.as_status() for each in state.inits]
    if state.reason:
        made["reason"] = state.reason
    if state.message:
        made["message"] = state.message
    return made


def _conditions(pod: Object, state: PodState, current: str, now: str) -> list[dict[str, Any]]:
    known = {str(each.get("type")): each for each in objects.status(pod).get("conditions") or ()}
    wanted: dict[str, tuple[bool, str, str]] = {
        "PodReadyToStartContainers": (state.sandboxed, "", ""),
        "Initialized": _initialized(state, current),
        "Ready": _ready(state, current, _gates(pod, known)),
        "ContainersReady": _ready(state, current, []),
        "PodScheduled": (True, "", ""),
    }
    if state.disrupted:
        wanted["DisruptionTarget"] = (True, "TerminationByKubelet", state.disrupted)
    made = [dict(each) for kind, each in known.items() if kind not in wanted]
    for kind, (holds, reason, message) in wanted.items():
        condition: dict[str, Any] = {"type": kind, "status": "True" if holds else "False"}
        if reason:
            condition["reason"] = reason
        if message:
            condition["message"] = message
        before = known.get(kind, {})
        same = before.get("status") == condition["status"]
        condition["lastTransitionTime"] = before.get("lastTransitionTime") if same else now
        made.append(condition)
    return made


def _initialized(state: PodState, current: str) -> tuple[bool, str, str]:
    if current == "Succeeded":
        return True, "PodCompleted", ""
    if initialized(state):
        return True, "", ""
    names = [each.name for each in state.inits if each.exit_code != 0 and not (each.sidecar and each.started)]
    return False, "ContainersNotInitialized", f"containers with incomplete status: [{' '.join(names)}]"


def _ready(state: PodState, current: str, closed_gates: Sequence[str]) -> tuple[bool, str, str]:
    if current == "Succeeded":
        return False, "PodCompleted", ""
    if current == "Failed":
        return False, "PodFailed", ""
    names = [each.name for each in state.mains if not each.ready]
    if names:
        return False, "ContainersNotReady", f"containers with unready status: [{' '.join(names)}]"
    if closed_gates:
        gate = closed_gates[0]
        return (
            False,
            "ReadinessGatesNotReady",
            f'corresponding condition of pod readiness gate "{gate}" does not exist.',
        )
    return True, "", ""


def _gates(pod: Object, known: dict[str, Object]) -> list[str]:
    gates = [str(each.get("conditionType")) for each in objects.spec(pod).get("readinessGates") or ()]
    return [gate for gate in gates if known.get(gate, {}).get("status") != "True"]
