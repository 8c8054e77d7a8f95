"""Defaults, admission and validation of pods. Updates are not checked.

Defaults are from kubernetes pkg/apis/core/v1/defaults.go, rules from pkg/apis/core/validation/validation.go (v1.34).
"""

from typing import Any

from muster.local.apiserver.errors import Cause, required, unsupported, wrong
from muster.local.apiserver.kinds.metadata_validation import label_1123

Json = dict[str, Any]
_CONTAINERS = ("initContainers", "containers")
_POLICIES = ("Always", "OnFailure", "Never")


def set_defaults(pod: Json) -> None:
    """Set the defaults of a pod, in place. Those of probes are the node agent's."""
    spec = pod.get("spec")
    if not isinstance(spec, dict):
        return
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    for place in _CONTAINERS:
        for container in spec.get(place) or ():
            resources = container.setdefault("resources", {})
            if limits := resources.get("limits"):
                resources["requests"] = limits | (resources.get("requests") or {})
            for port in container.get("ports") or ():
                port.setdefault("protocol", "TCP")


def admit(pod: Json) -> None:
    """Set priority, service account and the Pending status of a new pod, in place."""
    spec = pod.get("spec")
    if not isinstance(spec, dict):
        return
    spec.setdefault("priority", 0)
    spec.setdefault("serviceAccountName", spec.get("serviceAccount") or "default")
    spec.setdefault("serviceAccount", spec["serviceAccountName"])
    pod["status"] = {"phase": "Pending"}
    if spec.get("schedulingGates"):
        message = "Scheduling is blocked due to non-empty scheduling gates"
        gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": message}
        pod["status"]["conditions"] = [gated]


def check(pod: Json) -> list[Cause]:
    """Validate a pod."""
    spec = pod.get("spec")
    if not isinstance(spec, dict) or not spec.get("containers"):
        return [required("spec.containers")]
    causes: list[Cause] = []
    volumes = {v.get("name") for v in spec.get("volumes") or ()}
    for index, volume in enumerate(spec.get("volumes") or ()):
        causes += label_1123(f"spec.volumes[{index}].name", volume.get("name") or "")
    seen: set[str] = set()
    for place in _CONTAINERS:
        for index, container in enumerate(spec.get(place) or ()):
            where = f"spec.{place}[{index}]"
            name = container.get("name") or ""
            causes += label_1123(f"{where}.name", name) if name else [required(f"{where}.name")]
            if name in seen:
                causes.append(Cause(f"{where}.name", f'Duplicate value: "{name}"', "FieldValueDuplicate"))
            seen.add(name)
            causes += _check_container(container, where, volumes)
    if spec.get("restartPolicy") not in _POLICIES:
        causes.append(unsupported("spec.restartPolicy", spec.get("restartPolicy"), _POLICIES))
    for field in ("hostname", "subdomain"):
        if spec.get(field):
            causes += label_1123(f"spec.{field}", spec[field])
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= 2**31 - 1:
        causes.append(wrong("spec.activeDeadlineSeconds", deadline, "must be between 1 and 2147483647, inclusive"))
    grace = spec["terminationGracePeriodSeconds"]
    if grace < 0:
        causes.append(wrong("spec.terminationGracePeriodSeconds", grace, "must be greater than or equal to 0"))
    return causes


def _check_container(container: Json, where: str, volumes: set[Any]) -> list[Cause]:
    causes: list[Cause] = []
    if not container.get("image"):
        causes.append(required(f"{where}.image"))
    for index, port in enumerate(container.get("ports") or ()):
        number = port.get("containerPort", 0)
        if not 1 <= number <= 65535:
            message = "must be between 1 and 65535, inclusive"
            causes.append(wrong(f"{where}.ports[{index}].containerPort", number, message))
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        if mount.get("name") not in volumes:
            message = f'Not found: "{mount.get("name")}"'
            causes.append(Cause(f"{where}.volumeMounts[{index}].name", message, "FieldValueNotFound"))
    for index, variable in enumerate(container.get("env") or ()):
        if not variable.get("name"):
            causes.append(required(f"{where}.env[{index}].name"))
    return causes
