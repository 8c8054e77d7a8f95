"""How values are merged: which lists are maps or sets, and which maps are atomic.

Server-side apply and strategic merge patch both need this. For built-ins it comes from a table of field names, which
stands for the Go struct tags patchMergeKey and listMapKey (kubernetes staging/src/k8s.io/api); for custom resources
from the schema of the CRD.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class MergeSchema:
    """How one value is merged. For custom resources, `schema` is the schema of the value.

    A list with `keys` is a map, one with `unique` a set. An `atomic` map or list is replaced whole.
    """

    name: str = ""
    kind: str = ""
    schema: Json | None = None
    keys: tuple[str, ...] = ()
    unique: bool = False
    atomic: bool = False
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def child(self, name: str) -> MergeSchema:
        """How a field of this map is merged."""
        if self.schema is not None:
            if self.kind == "root" and name == "metadata":
                return _builtin("metadata", self.kind)
            inner = (self.schema.get("properties") or {}).get(name)
            if inner is None:
                additional = self.schema.get("additionalProperties")
                inner = additional if isinstance(additional, dict) else {}
            return _custom(name, inner)
        return _builtin(name, self.kind)

    def item(self) -> MergeSchema:
        """How an item of this list is merged."""
        if self.schema is not None:
            inner = self.schema.get("items")
            return _custom("", inner if isinstance(inner, dict) else {})
        return MergeSchema(kind=self.kind)


_KEYS: Mapping[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "env": ("name",),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "ports": ("containerPort", "protocol"),
    "conditions": ("type",),
    "ownerReferences": ("uid",),
    "imagePullSecrets": ("name",),
    "hostAliases": ("ip",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "schedulingGates": ("name",),
    "resourceClaims": ("name",),
    "claims": ("name",),
    "podIPs": ("ip",),
    "hostIPs": ("ip",),
    "secrets": ("name",),
    "addresses": ("type",),
    "taints": ("key",),
}
_ATOMIC = frozenset(
    (
        "nodeSelector",
        "selector",
        "matchLabels",
        "matchExpressions",
        "labelSelector",
        "configMapKeyRef",
        "secretKeyRef",
        "fieldRef",
        "resourceFieldRef",
        "involvedObject",
        "targetRef",
        "scopeSelector",
    )
)
_SETS = frozenset(("finalizers",))


@functools.lru_cache(maxsize=4096)
def _builtin(name: str, kind: str) -> MergeSchema:
    keys = _KEYS.get(name, ())
    defaults: Mapping[str, Any] = {}
    if name == "ports":
        keys = ("port", "protocol") if kind == "Service" else keys
        defaults = {"protocol": "TCP"}
    return MergeSchema(name=name, kind=kind, keys=keys, unique=name in _SETS, atomic=name in _ATOMIC, defaults=defaults)


def _custom(name: str, schema: Json) -> MergeSchema:
    kind = schema.get("x-kubernetes-list-type")
    properties = (schema.get("items") or {}).get("properties") or {} if kind == "map" else {}
    keys = tuple(schema.get("x-kubernetes-list-map-keys") or ()) if kind == "map" else ()
    return MergeSchema(
        name=name,
        schema=schema,
        keys=keys,
        unique=kind == "set",
        atomic=schema.get("x-kubernetes-map-type") == "atomic",
        defaults={k: properties[k]["default"] for k in keys if "default" in properties.get(k, {})},
    )


def builtin_merge_schema(kind: str) -> MergeSchema:
    """How an object of a built-in kind is merged."""
    return MergeSchema(kind=kind)


def custom_merge_schema(schema: Json) -> MergeSchema:
    """How a custom resource is merged."""
    return MergeSchema(kind="root", schema=schema)
