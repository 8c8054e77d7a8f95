"""Discovery: the groups, versions and resources that are served, and their OpenAPI v3 documents.

From the latter kubectl reads that the server checks fields itself, before it writes an object. They name the patch
operation of each resource with its parameter `fieldValidation`, and have no schemas.
"""

import hashlib
from typing import Any

from muster.local.apiserver.kinds.resources import Registry, Resource

Json = dict[str, Any]
VERSION: Json = {
    "major": "1",
    "minor": "34",
    "emulationMajor": "1",
    "emulationMinor": "34",
    "gitVersion": "v1.34.0+muster",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "cpython",
    "platform": "linux/amd64",
}


def api_versions(resources: list[Resource]) -> dict[str, list[str]]:
    """Return the versions of each group, in the order of the registry."""
    found: dict[str, list[str]] = {}
    for resource in resources:
        versions = found.setdefault(resource.group, [])
        if resource.version not in versions:
            versions.append(resource.version)
    return found


def _group(group: str, versions: list[str]) -> Json:
    """Return an APIGroup."""
    listed = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"kind": "APIGroup", "apiVersion": "v1", "name": group, "versions": listed, "preferredVersion": listed[0]}


def groups(registry: Registry) -> Json:
    """Return the APIGroupList of /apis."""
    groups = [_group(g, v) for g, v in api_versions(registry.all()).items() if g]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def core() -> Json:
    """Return the APIVersions of /api."""
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def resources(registry: Registry, group: str, version: str) -> Json:
    """Return the APIResourceList of one group and version. Subresources are served, and not listed."""
    listed: list[Json] = []
    for resource in registry.all():
        if (resource.group, resource.version) == (group, version):
            row: Json = {
                "name": resource.plural,
                "singularName": resource.singular,
                "namespaced": resource.namespaced,
                "kind": resource.kind,
                "verbs": list(resource.verbs),
            }
            names = {"shortNames": list(resource.short_names), "categories": list(resource.categories)}
            listed.append(row | {key: value for key, value in names.items() if value})
    name = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": listed}


def openapi_document(registry: Registry, group: str, version: str) -> Json:
    """Return the OpenAPI openapi_document of one group and version."""
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


def openapi_index(registry: Registry) -> Json:
    """Return the openapi_index of /openapi/v3. The hash changes with the registry."""
    paths: Json = {}
    for resource in registry.all():
        name = f"apis/{resource.group}/{resource.version}" if resource.group else f"api/{resource.version}"
        stamp = hashlib.sha256(f"{name} {registry.generation}".encode()).hexdigest()[:16]
        paths[name] = {"serverRelativeURL": f"/openapi/v3/{name}?hash={stamp}"}
    return {"paths": paths}
