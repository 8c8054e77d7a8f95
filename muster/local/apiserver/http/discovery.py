"""Discovery documents: the groups, versions and resources that are served, in the legacy and the aggregated form."""

from __future__ import annotations

from typing import Any

from muster.local.apiserver.kinds.registry import Registry
from muster.local.apiserver.kinds.resources import Resource

Json = dict[str, Any]
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
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
_KINDS_OF_SUBRESOURCES = {
    "eviction": ("policy", "v1", "Eviction"),
    "binding": ("", "v1", "Binding"),
    "exec": ("", "v1", "PodExecOptions"),
}


def _verbs_of(subresource: str) -> list[str]:
    match subresource:
        case "status":
            return ["get", "patch", "update"]
        case "log" | "exec":
            return ["get"]
        case "finalize":
            return ["update"]
    return ["create"]


def aggregated_version(accept: str) -> str:
    """The version of the aggregated form that the Accept header asks for; empty for the legacy form."""
    for part in accept.split(","):
        fields = {f.strip() for f in part.split(";")}
        if "g=apidiscovery.k8s.io" in fields and "as=APIGroupDiscoveryList" in fields:
            for version in ("v2", "v2beta1"):
                if f"v={version}" in fields:
                    return version
    return ""


def api_versions(resources: list[Resource]) -> dict[str, list[str]]:
    """The versions of each group, in the order of the registry."""
    found: dict[str, list[str]] = {}
    for resource in resources:
        versions = found.setdefault(resource.group, [])
        if resource.version not in versions:
            versions.append(resource.version)
    return found


def legacy_group(group: str, versions: list[str]) -> Json:
    """An APIGroup."""
    listed = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"kind": "APIGroup", "apiVersion": "v1", "name": group, "versions": listed, "preferredVersion": listed[0]}


def legacy_groups(registry: Registry) -> Json:
    """The APIGroupList of /apis."""
    groups = [legacy_group(g, v) for g, v in api_versions(registry.all()).items() if g]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def legacy_core() -> Json:
    """The APIVersions of /api."""
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def legacy_resources(registry: Registry, group: str, version: str) -> Json:
    """The APIResourceList of one group and version."""
    listed: list[Json] = []
    for resource in registry.all():
        if (resource.group, resource.version) != (group, version):
            continue
        row: Json = {
            "name": resource.plural,
            "singularName": resource.singular,
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": list(resource.verbs),
        }
        row |= _other_names(resource)
        listed.append(row)
        for subresource in resource.subresources:
            kind = _KINDS_OF_SUBRESOURCES.get(subresource, (group, version, resource.kind))
            inner: Json = {
                "name": f"{resource.plural}/{subresource}",
                "singularName": "",
                "namespaced": resource.namespaced,
                "kind": kind[2],
                "verbs": _verbs_of(subresource),
            }
            if kind[:2] != (group, version):
                inner["group"], inner["version"] = kind[:2]
            listed.append(inner)
    name = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": listed}


def _other_names(resource: Resource) -> Json:
    names = {"shortNames": list(resource.short_names), "categories": list(resource.categories)}
    return {key: value for key, value in names.items() if value}


def _discovered(resource: Resource) -> Json:
    def kind_of(group: str, version: str, kind: str) -> Json:
        return {"group": group, "version": version, "kind": kind}

    row: Json = {
        "resource": resource.plural,
        "responseKind": kind_of(resource.group, resource.version, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    row |= _other_names(resource)
    own = (resource.group, resource.version, resource.kind)
    if resource.subresources:
        row["subresources"] = [
            {
                "subresource": name,
                "responseKind": kind_of(*_KINDS_OF_SUBRESOURCES.get(name, own)),
                "verbs": _verbs_of(name),
            }
            for name in resource.subresources
        ]
    return row


def aggregated(registry: Registry, version: str, *, core: bool) -> Json:
    """The APIGroupDiscoveryList of /api (`core`) or /apis."""
    resources = [r for r in registry.all() if (r.group == "") == core]
    items = []
    for group, versions in api_versions(resources).items():
        listed = [
            {
                "version": name,
                "freshness": "Current",
                "resources": [_discovered(r) for r in resources if (r.group, r.version) == (group, name)],
            }
            for name in versions
        ]
        items.append({"metadata": {"name": group, "creationTimestamp": None}, "versions": listed})
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": items,
    }
