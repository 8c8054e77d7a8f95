"""OpenAPI v3 documents, which kubectl reads for field validation and `kubectl explain`.

They hold what clients use: the paths of each resource, with kind and query parameters of writes, and the schemas.
Schemas of built-ins come from the typed models, those of custom resources from their CRDs.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

from muster.local.apiserver.kinds.registry import Registry
from muster.local.apiserver.kinds.resources import Resource
from muster.local.apiserver.patch.merge_schema import builtin_merge_schema
from muster.local.apiserver.schema import builtin_schemas
from muster.local.apiserver.storage.stored_objects import encode

Json = dict[str, Any]
EMPTY_V2_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_PATCHES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)
_PARAMETERS = ("dryRun", "fieldManager", "fieldValidation", "force")


def _parameters() -> list[Json]:
    return [{"name": n, "in": "query", "schema": {"type": "string", "uniqueItems": True}} for n in _PARAMETERS]


def _camel(resource: Resource) -> str:
    parts = [*reversed(resource.group.split(".")), resource.version, resource.kind]
    return ".".join(part for part in parts if part)


def _paths(resource: Resource) -> Json:
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    spaced = f"{root}/namespaces/{{namespace}}" if resource.namespaced else root
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    reference = {"$ref": f"#/components/schemas/{_camel(resource)}"}

    def operation(action: str, kinds: tuple[str, ...] = ()) -> Json:
        made: Json = {
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": kind,
            "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": reference}}}},
        }
        if action in ("post", "put", "patch"):
            made["parameters"] = _parameters()
            content = {media: {"schema": reference} for media in kinds or ("application/json",)}
            made["requestBody"] = {"content": content, "required": True}
        return made

    patches = _PATCHES if resource.custom is None else _PATCHES[:3]
    collection: Json = {}
    if "list" in resource.verbs:
        collection["get"] = operation("list")
    if "create" in resource.verbs:
        collection["post"] = operation("post")
    paths: Json = {f"{spaced}/{resource.plural}": collection}
    if "get" in resource.verbs:
        paths[f"{spaced}/{resource.plural}/{{name}}"] = {
            "get": operation("get"),
            "put": operation("put"),
            "patch": operation("patch", patches),
            "delete": operation("delete"),
        }
    return paths


def _typed(kind: str, found: Json) -> Json:
    if inner := re.fullmatch(r"list\[(.+)\]", kind):
        return {"type": "array", "items": _typed(inner[1], found)}
    if inner := re.fullmatch(r"dict\(str, (.+)\)", kind):
        return {"type": "object", "additionalProperties": _typed(inner[1], found)}
    if kind in builtin_schemas.SCALARS:
        return dict(builtin_schemas.SCALARS[kind])
    if kind == "object":
        return {"x-kubernetes-preserve-unknown-fields": True}
    _component(kind, found)
    return {"allOf": [{"$ref": f"#/components/schemas/{kind}"}]}


def _merging(field: str, kind: str, model: str) -> Json:
    """How a strategic merge patch merges this list; kubectl computes its patches from it."""
    shape = builtin_merge_schema("Service" if model == "V1ServiceSpec" else "").child(field)
    if shape.keys and kind.startswith("list["):
        return {"x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": shape.keys[0]}
    return {"x-kubernetes-patch-strategy": "merge"} if shape.unique else {}


def _component(model: str, found: Json) -> Json:
    if model not in found:
        made: Json = {"type": "object", "properties": {}}
        found[model] = made
        for field, kind in builtin_schemas.fields(model).items():
            made["properties"][field] = {**_typed(kind, found), **_merging(field, kind, model)}
        required = builtin_schemas.required_fields(model)
        if required:
            made["required"] = required
    component: Json = found[model]
    return component


def _schema(resource: Resource, found: Json) -> Json:
    if resource.custom is None:
        model = builtin_schemas.model_name(resource.group, resource.version, resource.kind)
        return dict(_component(model, found))
    schema = dict(resource.custom.schema)
    meta = _typed("V1ObjectMeta", found)
    fixed = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": meta}
    schema["properties"] = {**(schema.get("properties") or {}), **fixed}
    return schema


def document(registry: Registry, group: str, version: str) -> bytes:
    """The OpenAPI document of one group and version."""
    paths: Json = {}
    schemas: Json = {}
    for resource in registry.all():
        if (resource.group, resource.version) != (group, version):
            continue
        paths.update(_paths(resource))
        schema = _schema(resource, schemas)
        schema["x-kubernetes-group-version-kind"] = [{"group": group, "version": version, "kind": resource.kind}]
        schemas[_camel(resource)] = schema
    info = {"title": "Muster local cluster", "version": "v1.34.0"}
    return encode({"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": schemas}})


def index(registry: Registry) -> Json:
    """The index of /openapi/v3. The hash changes with the registry."""
    paths: Json = {}
    for resource in registry.all():
        name = f"apis/{resource.group}/{resource.version}" if resource.group else f"api/{resource.version}"
        stamp = hashlib.sha256(f"{name} {registry.generation}".encode()).hexdigest()[:16]
        paths[name] = {"serverRelativeURL": f"/openapi/v3/{name}?hash={stamp}"}
    return {"paths": paths}
