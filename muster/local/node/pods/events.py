"""Events of pods, for what goes wrong: what `kubectl describe pod` shows of a kubelet and a scheduler.

The normal course of a pod (Scheduled, Pulled, Started) has none: that is in its status, and costs no further request.
"""

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import structlog

from muster.api.errors import ApiError
from muster.kube.paths import core
from muster.kube.resources import ResourceClient
from muster.local.node import objects
from muster.local.node.objects import Clock, Object, whole_time

Json = dict[str, Any]
NO_OBSTACLE = ("ContainerCreating", "PodInitializing", "")
"""Reasons of a container that waits for its turn."""


def warnings(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield reason and message of each Event that follows from the change of a pod's status."""
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
    """Create a Warning for each reason and message. One that cannot be created is logged: nothing depends on it."""
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
            log = structlog.get_logger("muster.local.node").bind(pod=objects.key(pod))
            log.info("event of a pod not written", reason=reason, error=str(error))


def _containers(status: Mapping[str, Any]) -> list[Json]:
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
