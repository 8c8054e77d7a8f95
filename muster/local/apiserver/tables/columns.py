"""The columns of built-in kinds in `kubectl get` (kubernetes pkg/printers/internalversion/printers.go)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from muster.api.values import humanize as ages
from muster.api.values.timestamps import seconds_of
from muster.local.apiserver.storage.stored_objects import value_at

Json = dict[str, Any]


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
        return "<unknown>"
    then = seconds_of(value)
    if not then or then - now >= 2:  # HumanDuration, too, shows a future time as invalid
        return "<invalid>"
    return ages.age(max(now - then, 0.0))


def _at(path: str) -> Callable[[Json, float], Any]:
    return lambda obj, _now: value_at(obj, path) or "<none>"


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


def _node_status(node: Json, _now: float) -> str:
    ready = [c for c in value_at(node, "status.conditions") or () if c.get("type") == "Ready"]
    text = "Unknown" if not ready else "Ready" if ready[0].get("status") == "True" else "NotReady"
    return text + (",SchedulingDisabled" if value_at(node, "spec.unschedulable") else "")


def _last_seen(event: Json, now: float) -> str:
    seen = value_at(event, "series.lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime")
    return age(seen or value_at(event, "metadata.creationTimestamp"), now)


def _event_object(event: Json, _now: float) -> str:
    held = event.get("involvedObject") or {}
    return f"{str(held.get('kind', '')).lower()}/{held.get('name', '')}"


NAME = Column("Name", lambda obj, _now: obj["metadata"].get("name", ""), format="name")
AGE = Column("Age", _age)
DEFAULT = (NAME, AGE)

BUILT_IN: Mapping[str, tuple[Column, ...]] = {
    "Pod": (
        NAME,
        Column("Ready", _ready),
        Column("Status", _status),
        Column("Restarts", _restarts),
        AGE,
        Column("IP", _at("status.podIP"), priority=1),
        Column("Node", _at("spec.nodeName"), priority=1),
    ),
    "Node": (NAME, Column("Status", _node_status), AGE, Column("Version", _at("status.nodeInfo.kubeletVersion"))),
    "Event": (
        Column("Last Seen", _last_seen),
        Column("Type", _at("type")),
        Column("Reason", _at("reason")),
        Column("Object", _event_object),
        Column("Message", lambda event, _now: str(event.get("message") or "").strip()),
    ),
}
"""The kinds that are looked at on a local cluster; all others have a name and an age."""
