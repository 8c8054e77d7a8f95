"""Discovery: the groups, versions and resources that are served, and their OpenAPI v3 documents.

From the latter kubectl reads that the server checks fields itself, before it writes an object. They name the patch
operation of each resource with its parameter `fieldValidation`, and have no schemas.
"""

from typing import Any

from muster.local.apiserver.errors import unknown_path
from muster.local.apiserver.kinds.resources import Registry, Resource

Json = dict[str, Any]
VERSION: Json = {
    "major": "1",
    "minor": "34",
    "gitVersion": "v1.34.0+muster",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "cpython",
    "platform": "linux/amd64",
}


def groups(registry: Registry) -> Json:
    """Return the APIGroupList of /apis."""
    listed: list[Json] = []
    for group, version in dict.fromkeys((each.group, each.version) for each in registry.all() if each.group):
        served = {"groupVersion": f"{group}/{version}", "version": version}
        kind = {"kind": "APIGroup", "apiVersion": "v1", "name": group}
        listed.append(kind | {"versions": [served], "preferredVersion": served})
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}


def core() -> Json:
    """Return the APIVersions of /api."""
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def _served(registry: Registry, group: str, version: str) -> list[Resource]:
    found = [each for each in registry.all() if (each.group, each.version) == (group, version)]
    if not found:
        raise unknown_path()
    return found


def resources(registry: Registry, group: str, version: str) -> Json:
    """Return the APIResourceList of one group and version. Subresources are served, and not listed."""
    listed: list[Json] = []
    for resource in _served(registry, group, version):
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
    """Return the OpenAPI document of one group and version."""
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    paths: Json = {}
    for resource in _served(registry, group, version):
        spaced = "/namespaces/{namespace}" if resource.namespaced else ""
        kind = {"group": group, "version": version, "kind": resource.kind}
        checked = {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}
        operation = {"x-kubernetes-group-version-kind": kind, "parameters": [checked], "responses": {}}
        paths[f"{root}{spaced}/{resource.plural}/{{name}}"] = {"patch": operation}
    return {"openapi": "3.0.0", "info": {"title": "Muster local cluster", "version": "v1.34.0"}, "paths": paths}


def openapi_index(registry: Registry) -> Json:
    """Return the index of /openapi/v3. Clients keep no document whose address has no hash."""
    versions = {(each.group, each.version) for each in registry.all()}
    names = sorted(f"apis/{group}/{version}" if group else f"api/{version}" for group, version in versions)
    return {"paths": {name: {"serverRelativeURL": f"/openapi/v3/{name}"} for name in names}}
