"""Objects as they are stored, and the selectors that choose among them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from muster.local.apiserver.errors import bad_request

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
    """One version of one object: its JSON bytes, and the few values that the server looks up without decoding them.

    Bytes cannot be modified by a caller, are sent to clients unchanged, and add no objects for Python's garbage
    collector.
    """

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
    return StoredObject(
        group_resource=group_resource,
        namespace=meta.get("namespace") or "",
        name=meta["name"],
        uid=meta.get("uid") or "",
        version=version,
        labels=meta.get("labels") or {},
        fields={path: str(value_at(obj, path) or "") for path in selectable(group_resource)},
        owners=tuple(str(o.get("uid")) for o in meta.get("ownerReferences") or ()),
        terminating=bool(meta.get("deletionTimestamp")),
        data=encode(obj),
    )


_COMMA = re.compile(r",(?![^()]*\))")
"""A comma that is not in the parentheses of a set."""
_KEY = r"[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?"
_VALUE = r"([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?"
_SET = re.compile(rf"\s*({_KEY})\s+(in|notin)\s*\(([^()]*)\)\s*")
_EXISTS = re.compile(rf"\s*(!?)\s*({_KEY})\s*")
_FIELD = re.compile(r"\s*([^=!\s]+)\s*(!=|==|=)\s*(.*)", re.DOTALL)
_COMPARE = re.compile(rf"\s*({_KEY})\s*(==|!=|=)\s*({_VALUE})\s*")


@dataclass(frozen=True, slots=True)
class SelectorRequirement:
    """One condition on one key of a label or field selector: parsed once per request, then evaluated for each object.

    Grammar and semantics (also for missing labels) are those of apimachinery pkg/labels/selector.go.
    """

    key: str
    operator: str
    values: frozenset[str]

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Return True if it holds for these labels. As in Kubernetes, `!=` and `notin` hold if the key is missing."""
        value = labels.get(self.key)
        match self.operator:
            case "exists":
                return value is not None
            case "absent":
                return value is None
            case "in":
                return value is not None and value in self.values
        return value is None or value not in self.values


def _requirement(part: str, whole: str) -> SelectorRequirement:
    if found := _SET.fullmatch(part):
        return SelectorRequirement(found[1], found[3], frozenset(v.strip() for v in found[4].split(",")))
    if found := _EXISTS.fullmatch(part):
        return SelectorRequirement(found[2], "absent" if found[1] else "exists", frozenset())
    if found := _COMPARE.fullmatch(part):
        return SelectorRequirement(found[1], "notin" if found[3] == "!=" else "in", frozenset((found[4],)))
    raise bad_request(
        f"unable to parse requirement {part.strip()!r} of label selector {whole!r}; "
        "write key=value, key!=value, key in (a,b), key notin (a,b), key or !key"
    )


def parse_labels(text: str) -> tuple[SelectorRequirement, ...]:
    """Parse a labelSelector; ApiError 400 if it is invalid."""
    return tuple(_requirement(part, text) for part in _COMMA.split(text)) if text.strip() else ()


def parse_fields(text: str, selectable: Sequence[str]) -> tuple[SelectorRequirement, ...]:
    """Parse a fieldSelector; ApiError 400 for a field that is not in `selectable`."""
    found: list[SelectorRequirement] = []
    for part in text.split(","):
        if not part.strip():
            continue
        compared = _FIELD.fullmatch(part)
        if compared is None:
            raise bad_request(f"invalid field selector {part!r}; write field=value or field!=value")
        key, sign, value = compared.groups()
        operator = "notin" if sign == "!=" else "in"
        if key not in selectable:
            raise bad_request(f'"{key}" is not a known field selector: only {", ".join(selectable)}')
        found.append(SelectorRequirement(key, operator, frozenset((value.strip(),))))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Selector:
    """Namespace, labels and fields that limit a list or watch; the empty selector matches everything."""

    namespace: str = ""
    labels: tuple[SelectorRequirement, ...] = ()
    fields: tuple[SelectorRequirement, ...] = ()

    def selects(self, stored: StoredObject) -> bool:
        """Return True if the selector matches an object."""
        if self.namespace and stored.namespace != self.namespace:
            return False
        return all(want.holds(stored.labels) for want in self.labels) and all(
            want.holds(stored.fields) for want in self.fields
        )
