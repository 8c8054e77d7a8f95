"""The columns of built-in kinds in `kubectl get` (kubernetes pkg/printers/internalversion/printers.go)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from muster.api.values import humanize as ages
from muster.api.values.timestamps import seconds_of
from muster.local.apiserver.storage.stored_objects import value_at

Json = dict[str, Any]
NONE = "<none>"
UNKNOWN = "<unknown>"


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `cell` computes its value from an object and the current time. Priority 1 is shown with -o wide."""

    name: str
    cell: Callable[[Json, float], Any]
    kind: str = "string"
    priority: int = 0
    format: str = ""


def age(value: Any, now: float) -> str:
    """The time since an RFC 3339 timestamp, as kubectl shows ages."""
    if not isinstance(value, str) or not value:
        return UNKNOWN
    then = seconds_of(value)
    if not then or then - now >= 2:  # HumanDuration, too, shows a future time as invalid
        return "<invalid>"
    return ages.age(max(now - then, 0.0))


def _at(path: str, missing: Any = NONE) -> Callable[[Json, float], Any]:
    def cell(obj: Json, _now: float) -> Any:
        value = value_at(obj, path)
        return missing if value is None or value == "" else value

    return cell


def _age(obj: Json, now: float) -> str:
    return age(value_at(obj, "metadata.creationTimestamp"), now)


def _statuses(pod: Json, place: str = "containerStatuses") -> list[Json]:
    found: list[Json] = (pod.get("status") or {}).get(place) or []
    return found


def _ready(pod: Json, _now: float) -> str:
    total = len(value_at(pod, "spec.containers") or ())
    return f"{sum(bool(s.get('ready')) for s in _statuses(pod))}/{total}"


def _container_reason(state: Json, prefix: str = "") -> str:
    ended, waiting = state.get("terminated"), state.get("waiting")
    if isinstance(waiting, dict) and waiting.get("reason"):
        return prefix + str(waiting["reason"])
    if isinstance(ended, dict):
        if ended.get("reason"):
            return prefix + str(ended["reason"])
        signal = ended.get("signal")
        return f"{prefix}Signal:{signal}" if signal else f"{prefix}ExitCode:{ended.get('exitCode', 0)}"
    return ""


def _status(pod: Json, _now: float) -> str:
    status = pod.get("status") or {}
    reason = str(status.get("reason") or status.get("phase") or "")
    gated = any(
        c.get("type") == "PodScheduled" and c.get("reason") == "SchedulingGated" for c in status.get("conditions") or ()
    )
    if gated:
        reason = "SchedulingGated"
    inits = _statuses(pod, "initContainerStatuses")
    for index, held in enumerate(inits):
        state = held.get("state") or {}
        ended = state.get("terminated")
        if isinstance(ended, dict) and ended.get("exitCode") == 0:
            continue
        waiting = (state.get("waiting") or {}).get("reason")
        detail = "" if waiting == "PodInitializing" else _container_reason(state, "Init:")
        reason = detail or f"Init:{index}/{len(value_at(pod, 'spec.initContainers') or ())}"
        break
    else:
        running = False
        for held in reversed(_statuses(pod)):
            state = held.get("state") or {}
            running = running or bool(held.get("ready") and state.get("running") is not None)
            reason = _container_reason(state) or reason
        if reason == "Completed" and running:
            reason = "Running"
    if value_at(pod, "metadata.deletionTimestamp"):
        return "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    return reason


def _restarts(pod: Json, now: float) -> str:
    held = _statuses(pod)
    count = sum(int(s.get("restartCount") or 0) for s in held)
    ends = [value_at(s, "lastState.terminated.finishedAt") for s in held]
    last = max((e for e in ends if e), default="")
    return f"{count} ({age(last, now)} ago)" if count and last else str(count)


def _ports(service: Json, _now: float) -> str:
    ports = []
    for port in value_at(service, "spec.ports") or ():
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        ports.append(f"{port.get('port')}{node}/{port.get('protocol', 'TCP')}")
    return ",".join(ports) or NONE


def _selector(service: Json, _now: float) -> str:
    return ",".join(f"{k}={v}" for k, v in sorted((value_at(service, "spec.selector") or {}).items())) or NONE


def _count(*fields: str) -> Callable[[Json, float], int]:
    return lambda obj, _now: sum(len(obj.get(field) or ()) for field in fields)


def _endpoints(obj: Json, _now: float) -> str:
    found = [
        f"{address.get('ip')}:{port.get('port')}"
        for subset in obj.get("subsets") or ()
        for address in subset.get("addresses") or ()
        for port in subset.get("ports") or ({"port": ""},)
    ]
    return ",".join(found[:3]) + (f" + {len(found) - 3} more..." if len(found) > 3 else "") or NONE


def _node_status(node: Json, _now: float) -> str:
    ready = [c for c in value_at(node, "status.conditions") or () if c.get("type") == "Ready"]
    text = "Unknown" if not ready else "Ready" if ready[0].get("status") == "True" else "NotReady"
    return text + (",SchedulingDisabled" if value_at(node, "spec.unschedulable") else "")


def _roles(node: Json, _now: float) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = value_at(node, "metadata.labels") or {}
    return ",".join(sorted(k.removeprefix(prefix) for k in labels if k.startswith(prefix))) or NONE


def _node_address(node: Json, _now: float) -> str:
    found = [a.get("address") for a in value_at(node, "status.addresses") or () if a.get("type") == "InternalIP"]
    return str(found[0]) if found else NONE


def _last_seen(event: Json, now: float) -> str:
    seen = value_at(event, "series.lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime")
    return age(seen or value_at(event, "metadata.creationTimestamp"), now)


def _event_object(event: Json, _now: float) -> str:
    held = event.get("involvedObject") or event.get("regarding") or {}
    return f"{str(held.get('kind', '')).lower()}/{held.get('name', '')}"


def _message(event: Json, _now: float) -> str:
    return str(event.get("message") or event.get("note") or "").strip()


def _completions(job: Json, _now: float) -> str:
    done = value_at(job, "status.succeeded") or 0
    return f"{done}/{value_at(job, 'spec.completions') or value_at(job, 'spec.parallelism') or 1}"


def _job_status(job: Json, _now: float) -> str:
    conditions = {c.get("type"): c.get("status") for c in value_at(job, "status.conditions") or ()}
    for kind in ("Complete", "Failed", "Suspended"):
        if conditions.get(kind) == "True":
            return kind
    return "Terminating" if value_at(job, "metadata.deletionTimestamp") else "Running"


def _duration(job: Json, now: float) -> str:
    start, end = value_at(job, "status.startTime"), value_at(job, "status.completionTime")
    if not start:
        return ""
    return age(start, seconds_of(end) or now)


NAME = Column("Name", lambda obj, _now: obj["metadata"].get("name", ""), format="name")
AGE = Column("Age", _age)
DEFAULT = (NAME, Column("Created At", lambda obj, _now: value_at(obj, "metadata.creationTimestamp") or "", "date"))

BUILT_IN: Mapping[str, tuple[Column, ...]] = {
    "Pod": (
        NAME,
        Column("Ready", _ready),
        Column("Status", _status),
        Column("Restarts", _restarts),
        AGE,
        Column("IP", _at("status.podIP"), priority=1),
        Column("Node", _at("spec.nodeName"), priority=1),
        Column("Nominated Node", _at("status.nominatedNodeName"), priority=1),
        Column("Readiness Gates", lambda _obj, _now: NONE, priority=1),
    ),
    "Namespace": (NAME, Column("Status", _at("status.phase", "")), AGE),
    "Service": (
        NAME,
        Column("Type", _at("spec.type")),
        Column("Cluster-IP", _at("spec.clusterIP")),
        Column("External-IP", _at("spec.externalName")),
        Column("Port(s)", _ports),
        AGE,
        Column("Selector", _selector, priority=1),
    ),
    "Endpoints": (NAME, Column("Endpoints", _endpoints), AGE),
    "ConfigMap": (NAME, Column("Data", _count("data", "binaryData"), "integer"), AGE),
    "Secret": (NAME, Column("Type", _at("type")), Column("Data", _count("data"), "integer"), AGE),
    "ServiceAccount": (NAME, Column("Secrets", _count("secrets"), "integer"), AGE),
    "Node": (
        NAME,
        Column("Status", _node_status),
        Column("Roles", _roles),
        AGE,
        Column("Version", _at("status.nodeInfo.kubeletVersion", "")),
        Column("Internal-IP", _node_address, priority=1),
        Column("OS-Image", _at("status.nodeInfo.osImage", UNKNOWN), priority=1),
        Column("Kernel-Version", _at("status.nodeInfo.kernelVersion", UNKNOWN), priority=1),
        Column("Container-Runtime", _at("status.nodeInfo.containerRuntimeVersion", UNKNOWN), priority=1),
    ),
    "Event": (
        Column("Last Seen", _last_seen),
        Column("Type", _at("type", "")),
        Column("Reason", _at("reason", "")),
        Column("Object", _event_object),
        Column("Message", _message),
        Column("Count", lambda obj, _now: obj.get("count") or obj.get("deprecatedCount") or 1, "integer", 1),
        Column("Name", NAME.cell, format="name", priority=1),
    ),
    "Lease": (NAME, Column("Holder", _at("spec.holderIdentity", "")), AGE),
    "PriorityClass": (
        NAME,
        Column("Value", _at("value", 0), "integer"),
        Column("Global-Default", lambda obj, _now: bool(obj.get("globalDefault")), "boolean"),
        AGE,
        Column("PreemptionPolicy", _at("preemptionPolicy", "")),
    ),
    "Job": (
        NAME,
        Column("Status", _job_status),
        Column("Completions", _completions),
        Column("Duration", _duration),
        AGE,
    ),
    "PersistentVolumeClaim": (
        NAME,
        Column("Status", _at("status.phase", "")),
        Column("Volume", _at("spec.volumeName", "")),
        Column("Capacity", _at("status.capacity.storage", "")),
        Column("Access Modes", lambda obj, _now: ",".join(value_at(obj, "spec.accessModes") or ())),
        Column("StorageClass", _at("spec.storageClassName", "")),
        AGE,
    ),
    "CustomResourceDefinition": DEFAULT,
}
