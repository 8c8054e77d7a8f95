"""What the server keeps of an object: its JSON bytes, and beside them the few values it must find without decoding.

Bytes cannot be changed by a caller, are sent to clients as they are, and cost the garbage collector nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

Json = dict[str, Any]
GroupResource = tuple[str, str]
"""Where objects of a resource are kept: (group, plural)."""

encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode

POD_FIELDS = (
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
)
EVENT_FIELDS = (
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source.component",
    "type",
)
SELECTABLE: Mapping[GroupResource, tuple[str, ...]] = {
    ("", "pods"): POD_FIELDS,
    ("", "events"): EVENT_FIELDS,
    ("", "namespaces"): ("status.phase",),
    ("", "nodes"): ("spec.unschedulable",),
    ("", "secrets"): ("type",),
    ("batch", "jobs"): ("status.successful",),
}
"""Fields a fieldSelector may name besides metadata.name and metadata.namespace (kubernetes
pkg/apis/*/v1/conversion.go)."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One version of one object."""

    group_resource: GroupResource
    namespace: str
    name: str
    uid: str
    version: int
    labels: Mapping[str, str]
    fields: Mapping[str, str]
    owners: tuple[str, ...]
    terminating: bool
    data: bytes

    def object(self) -> Json:
        """A fresh decoded copy, the caller's to change."""
        decoded: Json = _decode(self.data)
        return decoded


@dataclass(frozen=True, slots=True)
class Change:
    """One write as watchers see it. `current` of a DELETED change is the last state under the deletion's version."""

    kind: Literal["ADDED", "MODIFIED", "DELETED"]
    current: StoredObject
    previous: StoredObject | None
    lines: dict[str, bytes] = field(default_factory=dict)
    """Encoded watch lines, by form, so that each is made once for all watchers."""


def value_at(obj: Any, path: str) -> Any:
    """The value at a dotted path, None where any part of it is missing."""
    for part in path.split("."):
        if not isinstance(obj, dict):
            return None
        obj = obj.get(part)
    return obj


def to_stored(group_resource: GroupResource, obj: Json, version: int, selectable: tuple[str, ...]) -> StoredObject:
    """The kept form of an object whose metadata is complete."""
    meta: Json = obj["metadata"]
    fields: dict[str, str] = {}
    for path in selectable:
        value = value_at(obj, path)
        fields[path] = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return StoredObject(
        group_resource=group_resource,
        namespace=meta.get("namespace") or "",
        name=meta["name"],
        uid=meta.get("uid") or "",
        version=version,
        labels=meta.get("labels") or {},
        fields=fields,
        owners=tuple(str(o.get("uid")) for o in meta.get("ownerReferences") or ()),
        terminating=bool(meta.get("deletionTimestamp")),
        data=encode(obj),
    )
