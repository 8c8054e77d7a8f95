"""The status of one pod: made from its containers, written when it changes, with Events for what goes wrong.

The rules are those of pkg/kubelet/kubelet_pods.go (getPhase) and pkg/kubelet/status/generate.go.
"""

import asyncio
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from muster.api.errors import ApiError, Conflict, Invalid, NotFound
from muster.kube.resources import ResourceClient, core
from muster.kube.workqueue import Backoff
from muster.local.node import objects
from muster.local.node.containers.states import ContainerRecord
from muster.local.node.context import LOG, NodeContext
from muster.local.node.objects import Clock, Object, condition, pod_path, whole_time

Json = dict[str, Any]
NO_OBSTACLE = ("ContainerCreating", "PodInitializing", "")
"""Reasons of a container that waits for its turn."""


def warnings(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield reason and message of each Event that follows from the change of a pod's status.

    The normal course of a pod (Scheduled, Pulled, Started) has none: that is in its status, and costs no further
    request.
    """
    known = {str(each["name"]): each.get("state", {}) for each in _containers(before)}
    for each in _containers(after):
        waiting = each.get("state", {}).get("waiting", {})
        reason = str(waiting.get("reason") or "")
        if reason not in NO_OBSTACLE and waiting != known.get(str(each["name"]), {}).get("waiting"):
            kind = "BackOff" if reason.endswith("BackOff") else "Failed"
            yield kind, f"{reason} of container {each['name']}: {waiting.get('message') or reason}"
    if after.get("reason") and after["reason"] != before.get("reason"):
        yield str(after["reason"]), str(after.get("message") or after["reason"])


async def report(api: ResourceClient, pod: Object, component: str, clock: Clock, *found: tuple[str, str]) -> None:
    """Create a Warning for each reason and message, which `kubectl describe pod` shows.

    One that cannot be created is logged: nothing depends on it.
    """
    for reason, message in found:
        now = whole_time(clock())
        about = {"kind": "Pod", "apiVersion": "v1", "name": objects.name(pod), "uid": objects.uid(pod)}
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{objects.name(pod)[:200]}.{uuid.uuid4().hex[:16]}"},
            "involvedObject": {**about, "namespace": objects.namespace(pod)},
            "type": "Warning",
            "reason": reason,
            "message": message[:1024],
            "count": 1,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "source": {"component": component},
            "reportingComponent": component,
        }
        try:
            await api.create(core(objects.namespace(pod), "events"), event)
        except ApiError as error:
            LOG.info("event of a pod not written", pod=objects.key(pod), reason=reason, error=str(error))


def _containers(status: Mapping[str, Any]) -> list[Json]:
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]


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
    optional: dict[str, Any] = {
        "startTime": state.started,
        "podIP": state.address,
        "podIPs": [{"ip": state.address}] if state.address else [],
        "initContainerStatuses": [each.as_status() for each in state.inits],
        "reason": state.reason,
        "message": state.message,
    }
    return made | {name: value for name, value in optional.items() if value}


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
        before = known.get(kind, {})
        since = before.get("lastTransitionTime") if before.get("status") == str(holds) else now
        made.append(condition(kind, holds, reason, message, since))
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
        message = f'corresponding condition of pod readiness gate "{closed_gates[0]}" does not exist.'
        return False, "ReadinessGatesNotReady", message
    return True, "", ""


def _gates(pod: Object, known: dict[str, Object]) -> list[str]:
    gates = [str(each.get("conditionType")) for each in objects.spec(pod).get("readinessGates") or ()]
    return [gate for gate in gates if known.get(gate, {}).get("status") != "True"]


CONFLICTS = 10
RETRY_SECONDS = 0.5
LAST_RETRY = 10.0


class StatusWriter:
    """Writes the status of one pod when it changes: one write at a time, with the latest state.

    `pod` is its newest known version; the watch passes others to `update`.
    """

    def __init__(self, node: NodeContext, pod: Object, state: PodState) -> None:
        self.pod = pod
        self.gone = False
        self._node = node
        self._state = state
        self._changed = asyncio.Event()
        self._writing = asyncio.Lock()

    def changed(self) -> None:
        """Write the status again when the writer is free."""
        self._changed.set()

    def update(self, pod: Object) -> None:
        """Take a version from the watch, unless it is older than the known one."""
        if _version(pod) >= _version(self.pod):
            self.pod = pod

    async def run(self) -> None:
        """Write on every change until cancelled."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            await self.write()

    async def write(self) -> None:
        """Write the current state. Retries until that succeeds or the pod is deleted."""
        backoff = Backoff(RETRY_SECONDS, LAST_RETRY)
        async with self._writing:
            while not self.gone:
                try:
                    await self._write()
                except ApiError as error:
                    LOG.warning("pod status not written", pod=objects.key(self.pod), error=str(error))
                    if isinstance(error, Invalid) or self._node.draining:
                        return
                    await asyncio.sleep(backoff.delay())
                else:
                    return

    async def delete(self) -> None:
        """Delete the object of a pod that has ended, if its uid is still the same."""
        backoff = Backoff(RETRY_SECONDS, LAST_RETRY)
        while not self.gone:
            try:
                await self._node.api.delete(pod_path(self.pod), delete_at_once(self.pod))
            except (NotFound, Conflict):
                self.gone = True  # deleted already, perhaps created again with this name
            except ApiError:
                if self._node.draining:
                    return
                await asyncio.sleep(backoff.delay())
            else:
                return

    async def _write(self) -> None:
        """Patch the status under the known resourceVersion, because `conditions` is one list with several writers."""
        for _ in range(CONFLICTS):
            wanted = pod_status(self.pod, self._state, whole_time(self._node.clock()))
            known = objects.status(self.pod)
            if all(known.get(name) == value for name, value in wanted.items()):
                return
            version = objects.metadata(self.pod).get("resourceVersion")
            patch = {"metadata": {"resourceVersion": version}, "status": wanted}
            try:
                self.update(await self._node.api.merge(pod_path(self.pod, "status"), patch))
                await report(self._node.api, self.pod, "kubelet", self._node.clock, *warnings(known, wanted))
            except Conflict:
                if await self._replaced():
                    return
            except NotFound:
                self.gone = True
                return
            else:
                return

    async def _replaced(self) -> bool:
        """Read the pod again. True if it is gone, or another pod has its name."""
        try:
            fresh = await self._node.api.get(pod_path(self.pod))
        except NotFound:
            fresh = {}
        if objects.uid(fresh) == objects.uid(self.pod):
            self.pod = fresh
        else:
            self.gone = True
        return self.gone


def delete_at_once(pod: Object) -> dict[str, Any]:
    """Return DeleteOptions for that pod, and no later one of its name."""
    preconditions = {"uid": objects.uid(pod)}
    return {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "preconditions": preconditions}


def _version(pod: Object) -> int:
    text = str(objects.metadata(pod).get("resourceVersion") or "0")
    return int(text) if text.isdecimal() else 0
