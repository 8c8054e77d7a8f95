"""metadata.managedFields: which manager last wrote which field (Kubernetes documentation, "Server-Side Apply").

Not kept for events and leases, which are rewritten often, and for CRDs, where a megabyte of schema takes seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from muster.local.apiserver.kinds.resources import Resource
from muster.local.apiserver.patch.fields_v1 import Path, from_fields, leaves, to_fields
from muster.local.apiserver.patch.merge_schema import MergeSchema, builtin_merge_schema, custom_merge_schema

Json = dict[str, Any]
_UNTRACKED = frozenset(
    (("", "events"), ("coordination.k8s.io", "leases"), ("apiextensions.k8s.io", "customresourcedefinitions"))
)


@dataclass(frozen=True, slots=True)
class FieldManager:
    """The manager of a write, with its operation (Apply or Update), subresource and API version."""

    manager: str
    operation: str
    subresource: str
    api_version: str
    time: str

    def owns(self, entry: Json) -> bool:
        """Whether a managedFields entry is this manager's."""
        return (
            entry.get("manager") == self.manager
            and entry.get("operation") == self.operation
            and (entry.get("subresource") or "") == self.subresource
            and (self.operation == "Apply" or entry.get("apiVersion") == self.api_version)
        )

    def entry(self, paths: set[Path]) -> Json:
        """A managedFields entry of this manager."""
        entry = {
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": to_fields(paths),
        }
        if self.subresource:
            entry["subresource"] = self.subresource
        return entry


def tracked(resource: Resource) -> bool:
    """Whether objects of this resource have managedFields."""
    return resource.group_resource not in _UNTRACKED


def merge_schema_of(resource: Resource) -> MergeSchema:
    """How objects of a resource are merged."""
    return custom_merge_schema(resource.custom.schema) if resource.custom else builtin_merge_schema(resource.kind)


def entries(obj: Json) -> list[Json]:
    """The managedFields of an object."""
    held: list[Json] = obj["metadata"].get("managedFields") or []
    return held


def owned(entry: Json) -> set[Path]:
    """The field paths of an entry."""
    fields = entry.get("fieldsV1")
    return from_fields(fields) if isinstance(fields, dict) else set()


def record_update(
    resource: Resource, new: Json, old: Json | None, base: list[Json], writer: FieldManager
) -> list[Json]:
    """The managedFields after an update: the writer owns what it changed; removed fields have no owner."""
    shape = merge_schema_of(resource)
    after = leaves(new, shape)
    before = leaves(old, shape) if old is not None else {}
    missing = object()
    changed = {path for path, value in after.items() if before.get(path, missing) != value or path not in before}
    gone = before.keys() - after.keys()
    if not changed and not gone:
        return base
    kept: list[Json] = []
    mine: set[Path] = set()
    for entry in base:
        held = owned(entry)
        if writer.owns(entry):
            mine |= held
            continue
        left = held - changed - gone
        if left == held:
            kept.append(entry)
        elif left:
            kept.append({**entry, "fieldsV1": to_fields(left)})
    mine = (mine - gone) | changed
    if mine:
        kept.append(writer.entry(mine))
    return kept
