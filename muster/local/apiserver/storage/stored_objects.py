"""`StoredObject`: an object's JSON bytes, and the few values that the server looks up without decoding them.

Bytes cannot be modified by a caller, are sent to clients unchanged, and add no objects for Python's garbage collector.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

Json = dict[str, Any]
GroupResource = tuple[str, str]
"""(group, plural): the resource of an object, whatever API version it is requested in."""

encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode

_EVENT_FIELDS = ("reason", "type", "reportingComponent")
_NAMES = ("metadata.name", "metadata.namespace")
_SELECTABLE: Mapping[GroupResource, tuple[str, ...]] = {
    ("", "pods"): ("spec.nodeName", "status.phase"),
    ("", "events"): (*_EVENT_FIELDS, *(f"involvedObject.{each}" for each in ("kind", "namespace", "name", "uid"))),
}


def selectable(group_resource: GroupResource) -> tuple[str, ...]:
    """Return the fields that a fieldSelector supports: those that Muster and kubectl select by."""
    return _NAMES + _SELECTABLE.get(group_resource, ())


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
        """Decode a new copy, which the caller may modify."""
        decoded: Json = _decode(self.data)
        return decoded


@dataclass(frozen=True, slots=True)
class Change:
    """One write, as watches report it. For DELETED, `current` is the last state with the version of the deletion."""

    kind: Literal["ADDED", "MODIFIED", "DELETED"]
    current: StoredObject
    previous: StoredObject | None


def value_at(obj: Any, path: str) -> Any:
    """Return the value at a dotted path; None if any part of it is missing."""
    for part in path.split("."):
        if not isinstance(obj, dict):
            return None
        obj = obj.get(part)
    return obj


def to_stored(group_resource: GroupResource, obj: Json, version: int) -> StoredObject:
    """Encode an object whose metadata is complete."""
    meta: Json = obj["metadata"]
    fields: dict[str, str] = {}
    for path in selectable(group_resource):
        value = value_at(obj, path)
        fields[path] = "" if value is None else str(value)
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
