"""Accessors for Kubernetes objects as plain dictionaries, values that are derived from them, API paths and times."""

from collections.abc import Callable, Mapping
from typing import Any

from muster.api.values import timestamps
from muster.kube.resources import core, custom

Object = Mapping[str, Any]

DEFAULT_GRACE = 30.0
"""terminationGracePeriodSeconds of a pod that sets none, in seconds (pkg/apis/core/v1/defaults.go)."""


def metadata(value: Object) -> Object:
    """Return metadata, empty if absent."""
    return value.get("metadata") or {}


def spec(value: Object) -> Object:
    """Return spec, empty if absent."""
    return value.get("spec") or {}


def status(value: Object) -> Object:
    """Return status, empty if absent."""
    return value.get("status") or {}


def uid(value: Object) -> str:
    """Return metadata.uid."""
    return str(metadata(value).get("uid", ""))


def name(value: Object) -> str:
    """Return metadata.name."""
    return str(metadata(value).get("name", ""))


def namespace(value: Object) -> str:
    """Return metadata.namespace, `default` if absent."""
    return str(metadata(value).get("namespace") or "default")


def key(value: Object) -> str:
    """Return `namespace/name`."""
    return f"{namespace(value)}/{name(value)}"


def labels(value: Object) -> Mapping[str, str]:
    """Return metadata.labels, empty if absent."""
    return metadata(value).get("labels") or {}


def node_name(pod: Object) -> str:
    """Return spec.nodeName, empty while the pod is not bound."""
    return str(spec(pod).get("nodeName") or "")


def account(pod: Object) -> str:
    """Return the service account of the pod."""
    return str(spec(pod).get("serviceAccountName") or "default")


def finished(pod: Object) -> bool:
    """Return True if the pod is Succeeded or Failed."""
    return status(pod).get("phase") in {"Succeeded", "Failed"}


def hostname(pod: Object) -> str:
    """Return the hostname of the pod: spec.hostname or its name, truncated to 63 characters."""
    return str(spec(pod).get("hostname") or name(pod))[:63].rstrip("-.")


def grace(pod: Object) -> float:
    """Return seconds between SIGTERM and SIGKILL: those of the deletion, else of the spec, else the default."""
    chosen = metadata(pod).get("deletionGracePeriodSeconds")
    if chosen is None:
        chosen = spec(pod).get("terminationGracePeriodSeconds")
    return DEFAULT_GRACE if chosen is None else max(0.0, float(chosen))


def ready(pod: Object) -> bool:
    """Return True if the condition Ready is True."""
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in status(pod).get("conditions") or ())


def condition(kind: str, holds: bool, reason: str, message: str, since: str | None) -> dict[str, Any]:
    """Return a condition; what is empty is left out."""
    made = {"type": kind, "status": str(holds), "reason": reason, "message": message, "lastTransitionTime": since}
    return {name: value for name, value in made.items() if value}


PODS = core(None, "pods")
SERVICES = core(None, "services")
NODES = core(None, "nodes")
LEASES = custom("coordination.k8s.io/v1", "kube-node-lease", "leases")


def pod_path(pod: Object, *rest: str) -> str:
    """Return the path of a pod, or of one of its subresources."""
    return "/".join((core(namespace(pod), "pods", name(pod)), *rest))


Clock = Callable[[], int]
"""Returns wall-clock time in nanoseconds since 1970 (`time.time_ns`, or a test's clock)."""

SECOND = 1_000_000_000


def whole_time(nanoseconds: int) -> str:
    """Return a metav1.Time: whole seconds."""
    return timestamps.whole_time(nanoseconds // SECOND)


def micro_time(nanoseconds: int) -> str:
    """Return a metav1.MicroTime, which Leases use."""
    return timestamps.micro_time(nanoseconds / SECOND)


def nano_time(nanoseconds: int) -> str:
    """Return the timestamp of a log line. It always has nine digits, so that timestamps sort as text."""
    return f"{whole_time(nanoseconds)[:-1]}.{nanoseconds % SECOND:09d}Z"
