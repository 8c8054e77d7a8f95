"""OpenAPI v3 documents: from them kubectl reads that the server checks fields itself, before it writes an object.

They name the patch operation of each resource with its parameter `fieldValidation`, and have no schemas.
"""

from __future__ import annotations

import hashlib
from typing import Any

from muster.local.apiserver.kinds.registry import Registry

Json = dict[str, Any]


def document(registry: Registry, group: str, version: str) -> Json:
    """The OpenAPI document of one group and version."""
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    paths: Json = {}
    for resource in registry.all():
        if (resource.group, resource.version) == (group, version):
            spaced = "/namespaces/{namespace}" if resource.namespaced else ""
            kind = {"group": group, "version": version, "kind": resource.kind}
            checked = {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}
            operation = {"x-kubernetes-group-version-kind": kind, "parameters": [checked], "responses": {}}
            paths[f"{root}{spaced}/{resource.plural}/{{name}}"] = {"patch": operation}
    return {"openapi": "3.0.0", "info": {"title": "Muster local cluster", "version": "v1.34.0"}, "paths": paths}


def index(registry: Registry) -> Json:
    """The index of /openapi/v3. The hash changes with the registry."""
    paths: Json = {}
    for resource in registry.all():
        name = f"apis/{resource.group}/{resource.version}" if resource.group else f"api/{resource.version}"
        stamp = hashlib.sha256(f"{name} {registry.generation}".encode()).hexdigest()[:16]
        paths[name] = {"serverRelativeURL": f"/openapi/v3/{name}?hash={stamp}"}
    return {"paths": paths}
