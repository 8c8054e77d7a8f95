"""Validation of metadata (names, labels, owner references), and defaults, admission and validation of pods.

Rules of metadata are from apimachinery pkg/util/validation and pkg/api/validation. Defaults of pods are from kubernetes
pkg/apis/core/v1/defaults.go, their rules from pkg/apis/core/validation/validation.go (v1.34); what an update may not
change is not checked.
"""

import re
from collections.abc import Callable
from typing import Any

from muster.local.apiserver.errors import Cause, required, unsupported, wrong

Json = dict[str, Any]
Rule = Callable[[str, str], list[Cause]]
"""Function that returns the faults of a text in a field."""
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"


def _rule(pattern: str, longest: int, what: str) -> Rule:
    compiled = re.compile(pattern)

    def check(field: str, text: str) -> list[Cause]:
        if len(text) > longest:
            return [wrong(field, text, f"must be no more than {longest} characters")]
        return [] if compiled.fullmatch(text) else [wrong(field, text, f"{what} (regex: '{pattern}')")]

    return check


label_1123: Rule = _rule(_LABEL, 63, "a lowercase RFC 1123 label must consist of a-z, 0-9 and '-'")
"""Names of namespaces, containers and ports, and host names."""
subdomain: Rule = _rule(rf"{_LABEL}(\.{_LABEL})*", 253, "a lowercase RFC 1123 subdomain must consist of DNS labels")
"""Most object names."""
label_1035: Rule = _rule("[a-z]([-a-z0-9]*[a-z0-9])?", 63, "a DNS-1035 label must start with a-z")
"""Names of Services."""
_name_part: Rule = _rule(_NAME, 63, "name part must consist of alphanumeric characters, '-', '_' or '.'")
_label_value: Rule = _rule(f"({_NAME})?", 63, "a valid label must be empty or consist of alphanumeric characters")


def _qualified(field: str, key: str) -> list[Cause]:
    """Validate a key: an optional DNS subdomain and '/', then a name."""
    prefix, slash, name = key.rpartition("/")
    causes = subdomain(field, prefix) if slash else []
    return causes + _name_part(field, name)


def metadata_types(meta: Json) -> str:
    """Return the first field of the metadata that has a wrong type, as a message; empty if there is none."""
    for name in ("name", "generateName", "namespace", "uid", "resourceVersion"):
        if not isinstance(meta.get(name, ""), str | None):
            return f"metadata.{name} must be a string"
    for name in ("labels", "annotations"):
        pairs = meta.get(name)
        if pairs is not None and not (isinstance(pairs, dict) and all(isinstance(v, str) for v in pairs.values())):
            return f"metadata.{name} must be a map of strings; quote numbers and booleans"
    for name, inner in (("finalizers", str), ("ownerReferences", dict)):
        items = meta.get(name)
        if items is not None and not (isinstance(items, list) and all(isinstance(i, inner) for i in items)):
            return f"metadata.{name} must be a list of {'strings' if inner is str else 'objects'}"
    return ""


def check_metadata(meta: Json, plural: str, group: str) -> list[Cause]:
    """Validate the metadata of an object."""
    name = meta.get("name") or ""
    if not name:
        return [required("metadata.name", "name or generateName is required")]
    rule = {"namespaces": label_1123, "services": label_1035}.get(plural, subdomain) if not group else subdomain
    causes = rule("metadata.name", name)
    for key, value in (meta.get("labels") or {}).items():
        causes += _qualified("metadata.labels", key) + _label_value("metadata.labels", value)
    for index, owner in enumerate(meta.get("ownerReferences") or ()):
        for part in ("apiVersion", "kind", "name", "uid"):
            if not isinstance(owner.get(part), str) or not owner[part]:
                causes.append(required(f"metadata.ownerReferences[{index}].{part}", "must not be empty"))
    return causes


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
