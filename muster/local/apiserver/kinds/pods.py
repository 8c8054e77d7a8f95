"""Defaults and validation of pods and pod templates, and which fields of a pod may be updated.

Defaults are from kubernetes pkg/apis/core/v1/defaults.go, rules from pkg/apis/core/validation/validation.go (v1.34).
"""

import copy
from typing import Any

from muster.local.apiserver.errors import Cause, required, unsupported, wrong
from muster.local.apiserver.kinds.metadata_validation import label_1123

Json = dict[str, Any]
_CONTAINERS = ("initContainers", "containers")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_POLICIES = ("Always", "OnFailure", "Never")
_FORBIDDEN = "Forbidden: pod updates may not change fields other than images, activeDeadlineSeconds and schedulingGates"
_PROBE_DEFAULTS = (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3))


def _set_template_defaults(spec: Json) -> None:
    """Set the defaults of a pod spec, in place."""
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    for place in _CONTAINERS:
        for container in spec.get(place) or ():
            _set_container_defaults(container)


def _set_container_defaults(container: Json) -> None:
    container.setdefault("resources", {})
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or ():
        reference = (variable.get("valueFrom") or {}).get("fieldRef")
        if reference:
            reference.setdefault("apiVersion", "v1")
    limits = container["resources"].get("limits")
    if limits:
        requests = container["resources"].setdefault("requests", {})
        for name, amount in limits.items():
            requests.setdefault(name, amount)
    for name in _PROBES:
        probe = container.get(name)
        if probe is None:
            continue
        for field, value in _PROBE_DEFAULTS:
            probe.setdefault(field, value)
        if isinstance(probe.get("httpGet"), dict):
            probe["httpGet"].setdefault("scheme", "HTTP")
            probe["httpGet"].setdefault("path", "/")


def set_defaults(pod: Json) -> None:
    """Set the defaults of a pod, in place."""
    spec = pod.get("spec")
    if isinstance(spec, dict):
        _set_template_defaults(spec)


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


def _check_spec(spec: Json, path: str) -> list[Cause]:
    causes: list[Cause] = []
    if not spec.get("containers"):
        causes.append(required(f"{path}.containers"))
    volumes = {v.get("name") for v in spec.get("volumes") or ()}
    for index, volume in enumerate(spec.get("volumes") or ()):
        causes += label_1123(f"{path}.volumes[{index}].name", volume.get("name") or "")
    seen: set[str] = set()
    for place in _CONTAINERS:
        for index, container in enumerate(spec.get(place) or ()):
            where = f"{path}.{place}[{index}]"
            name = container.get("name") or ""
            if not name:
                causes.append(required(f"{where}.name"))
            else:
                causes += label_1123(f"{where}.name", name)
            if name in seen:
                causes.append(Cause(f"{where}.name", f'Duplicate value: "{name}"', "FieldValueDuplicate"))
            seen.add(name)
            causes += _check_container(container, where, volumes)
    if spec.get("restartPolicy") not in _POLICIES:
        causes.append(unsupported(f"{path}.restartPolicy", spec.get("restartPolicy"), _POLICIES))
    for field in ("hostname", "subdomain"):
        if spec.get(field):
            causes += label_1123(f"{path}.{field}", spec[field])
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= 2**31 - 1:
        causes.append(wrong(f"{path}.activeDeadlineSeconds", deadline, "must be between 1 and 2147483647, inclusive"))
    if spec["terminationGracePeriodSeconds"] < 0:
        where = f"{path}.terminationGracePeriodSeconds"
        causes.append(wrong(where, spec["terminationGracePeriodSeconds"], "must be greater than or equal to 0"))
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


def check(pod: Json) -> list[Cause]:
    """Validate a pod."""
    spec = pod.get("spec")
    return _check_spec(spec, "spec") if isinstance(spec, dict) else [required("spec.containers")]


def check_change(new: Json, old: Json) -> list[Cause]:
    """Validate an update of a pod: of its spec, images change, a deadline comes nearer, and scheduling gates go.

    A pod that has gates may be given the nodes that it wants, too.
    """
    before, after = copy.deepcopy(old["spec"]), copy.deepcopy(new["spec"])
    was, now = before.pop("activeDeadlineSeconds", None), after.pop("activeDeadlineSeconds", None)
    gates, still = before.pop("schedulingGates", None) or [], after.pop("schedulingGates", None) or []
    for spec in (before, after):
        for place in _CONTAINERS:
            for container in spec.get(place) or ():
                container.pop("image", None)
        if gates:
            spec.pop("nodeSelector", None)
            spec.pop("affinity", None)
    causes: list[Cause] = []
    if was is not None and (now is None or now > was):
        causes.append(wrong("spec.activeDeadlineSeconds", now, "must be less than or equal to previous value"))
    if any(gate not in gates for gate in still):
        message = "Forbidden: only deletion is allowed, but found new scheduling gate"
        causes.append(Cause("spec.schedulingGates", message, "FieldValueForbidden"))
    if before != after:
        causes.append(Cause("spec", _FORBIDDEN, "FieldValueForbidden"))
    return causes
