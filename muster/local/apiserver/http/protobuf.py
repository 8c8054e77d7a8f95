"""Protobuf request bodies, which kubectl 1.32 and later send for typed generators without a fallback to JSON.

Field numbers are from the generated.proto files of k8s.io/api and k8s.io/apimachinery (v1.34). The tables cover what
kubectl creates from flags (`kubectl create configmap`), delete options and access reviews; the rest is sent as JSON.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from muster.local.apiserver.errors import bad_request, unsupported_media

Json = dict[str, Any]
MAGIC = b"k8s\x00"


@dataclass(frozen=True, slots=True)
class Field:
    """One field: JSON name and type (string, bytes, int, bool, port, map, bytesmap, or the name of a message)."""

    name: str
    form: str = "string"
    repeated: bool = False


Message = Mapping[int, Field]

_MESSAGES: Mapping[str, Message] = {
    "Unknown": {1: Field("typeMeta", "TypeMeta"), 2: Field("raw", "bytes"), 4: Field("contentType")},
    "TypeMeta": {1: Field("apiVersion"), 2: Field("kind")},
    "ObjectMeta": {
        1: Field("name"),
        2: Field("generateName"),
        3: Field("namespace"),
        5: Field("uid"),
        6: Field("resourceVersion"),
        11: Field("labels", "map"),
        12: Field("annotations", "map"),
        13: Field("ownerReferences", "OwnerReference", repeated=True),
        14: Field("finalizers", repeated=True),
    },
    "OwnerReference": {
        1: Field("kind"),
        3: Field("name"),
        4: Field("uid"),
        5: Field("apiVersion"),
        6: Field("controller", "bool"),
        7: Field("blockOwnerDeletion", "bool"),
    },
    "Namespace": {1: Field("metadata", "ObjectMeta"), 2: Field("spec", "NamespaceSpec")},
    "NamespaceSpec": {1: Field("finalizers", repeated=True)},
    "ConfigMap": {
        1: Field("metadata", "ObjectMeta"),
        2: Field("data", "map"),
        3: Field("binaryData", "bytesmap"),
        4: Field("immutable", "bool"),
    },
    "Secret": {
        1: Field("metadata", "ObjectMeta"),
        2: Field("data", "bytesmap"),
        3: Field("type"),
        4: Field("stringData", "map"),
        5: Field("immutable", "bool"),
    },
    "ServiceAccount": {
        1: Field("metadata", "ObjectMeta"),
        3: Field("imagePullSecrets", "LocalObjectReference", repeated=True),
        4: Field("automountServiceAccountToken", "bool"),
    },
    "LocalObjectReference": {1: Field("name")},
    "Service": {1: Field("metadata", "ObjectMeta"), 2: Field("spec", "ServiceSpec")},
    "ServiceSpec": {
        1: Field("ports", "ServicePort", repeated=True),
        2: Field("selector", "map"),
        3: Field("clusterIP"),
        4: Field("type"),
        7: Field("sessionAffinity"),
        10: Field("externalName"),
    },
    "ServicePort": {
        1: Field("name"),
        2: Field("protocol"),
        3: Field("port", "int"),
        4: Field("targetPort", "port"),
        5: Field("nodePort", "int"),
    },
    "IntOrString": {1: Field("type", "int"), 2: Field("intVal", "int"), 3: Field("strVal")},
    "PriorityClass": {
        1: Field("metadata", "ObjectMeta"),
        2: Field("value", "int"),
        3: Field("globalDefault", "bool"),
        4: Field("description"),
        5: Field("preemptionPolicy"),
    },
    "Job": {1: Field("metadata", "ObjectMeta"), 2: Field("spec", "JobSpec")},
    "JobSpec": {
        1: Field("parallelism", "int"),
        2: Field("completions", "int"),
        3: Field("activeDeadlineSeconds", "int"),
        6: Field("template", "PodTemplateSpec"),
        7: Field("backoffLimit", "int"),
        8: Field("ttlSecondsAfterFinished", "int"),
    },
    "PodTemplateSpec": {1: Field("metadata", "ObjectMeta"), 2: Field("spec", "PodSpec")},
    "PodSpec": {2: Field("containers", "Container", repeated=True), 3: Field("restartPolicy")},
    "Container": {
        1: Field("name"),
        2: Field("image"),
        3: Field("command", repeated=True),
        4: Field("args", repeated=True),
        14: Field("imagePullPolicy"),
    },
    "Eviction": {1: Field("metadata", "ObjectMeta"), 2: Field("deleteOptions", "DeleteOptions")},
    "DeleteOptions": {
        1: Field("gracePeriodSeconds", "int"),
        2: Field("preconditions", "Preconditions"),
        3: Field("orphanDependents", "bool"),
        4: Field("propagationPolicy"),
        5: Field("dryRun", repeated=True),
    },
    "Preconditions": {1: Field("uid"), 2: Field("resourceVersion")},
    "SelfSubjectAccessReview": {1: Field("metadata", "ObjectMeta"), 2: Field("spec", "AccessSpec")},
    "AccessSpec": {
        1: Field("resourceAttributes", "ResourceAttributes"),
        2: Field("nonResourceAttributes", "NonResourceAttributes"),
    },
    "ResourceAttributes": {
        1: Field("namespace"),
        2: Field("verb"),
        3: Field("group"),
        4: Field("version"),
        5: Field("resource"),
        6: Field("subresource"),
        7: Field("name"),
    },
    "NonResourceAttributes": {1: Field("path"), 2: Field("verb")},
    "SelfSubjectRulesReview": {1: Field("metadata", "ObjectMeta"), 2: Field("spec", "RulesSpec")},
    "RulesSpec": {1: Field("namespace")},
    "SelfSubjectReview": {1: Field("metadata", "ObjectMeta")},
}
_KINDS = frozenset(
    (
        "Namespace",
        "ConfigMap",
        "Secret",
        "ServiceAccount",
        "Service",
        "PriorityClass",
        "Job",
        "Eviction",
        "DeleteOptions",
        "SelfSubjectAccessReview",
        "SelfSubjectRulesReview",
        "SelfSubjectReview",
    )
)


def decode(body: bytes) -> Json:
    """Decode a protobuf body; ApiError 400 if it is malformed, 415 if the kind is not supported."""
    if not body.startswith(MAGIC):
        raise bad_request("the protobuf body does not begin with the Kubernetes magic number")
    envelope = _message(body[len(MAGIC) :], "Unknown")
    kinds = envelope.get("typeMeta") or {}
    kind = kinds.get("kind", "")
    if kind not in _KINDS:
        raise unsupported_media(f"protobuf {kind or 'object without a kind'}", ["application/json", "application/yaml"])
    found = _message(base64.b64decode(envelope.get("raw", "")), kind)
    return {"apiVersion": kinds.get("apiVersion", ""), "kind": kind, **found}


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise bad_request("the protobuf body ends inside a number")


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield number, value
            continue
        if wire not in (1, 2, 5):
            raise bad_request(f"the protobuf body has a field of wire type {wire}")
        size = {1: 8, 5: 4}.get(wire, 0)
        if wire == 2:
            size, at = _varint(data, at)
        if at + size > len(data):
            raise bad_request("the protobuf body ends inside a field")
        yield number, data[at : at + size]
        at += size


def _message(data: bytes, name: str) -> Json:
    layout = _MESSAGES[name]
    found: Json = {}
    for number, raw in _fields(data):
        field = layout.get(number)
        if field is None:
            continue
        value = _value(field.form, raw)
        if field.form in ("map", "bytesmap"):
            found.setdefault(field.name, {}).update(value)
        elif field.repeated:
            found.setdefault(field.name, []).append(value)
        elif value != "":
            found[field.name] = value
    return found


def _value(form: str, raw: int | bytes) -> Any:
    if form in ("int", "bool"):
        if not isinstance(raw, int):
            raise bad_request("the protobuf body has text where a number belongs")
        # Negative numbers are encoded as 64-bit two's complement.
        return bool(raw) if form == "bool" else raw - (1 << 64) if raw >= 1 << 63 else raw
    if not isinstance(raw, bytes):
        raise bad_request("the protobuf body has a number where text belongs")
    match form:
        case "string":
            return _text(raw)
        case "bytes":
            return base64.b64encode(raw).decode()
        case "map" | "bytesmap":
            key, value = "", b""
            for number, part in _fields(raw):
                if isinstance(part, bytes) and number == 1:
                    key = _text(part)
                elif isinstance(part, bytes) and number == 2:
                    value = part
            return {key: _text(value) if form == "map" else base64.b64encode(value).decode()}
        case "port":
            either = _message(raw, "IntOrString")
            return either.get("strVal", "") if either.get("type") else either.get("intVal", 0)
    return _message(raw, form)


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as failure:
        raise bad_request("the protobuf body has text that is not UTF-8") from failure
