"""CustomResourceDefinitions: defaults, validation, status, and the resources they define."""

from __future__ import annotations

from typing import Any

from muster.local.apiserver.errors import Cause, required, unsupported, wrong
from muster.local.apiserver.kinds.metadata_validation import label_1035, subdomain
from muster.local.apiserver.kinds.resources import CrdVersion, Resource
from muster.local.apiserver.schema.structural_schemas import make_schema_validator, schema_faults
from muster.local.apiserver.tables import value_of

Json = dict[str, Any]
CRD_RESOURCE = ("apiextensions.k8s.io", "customresourcedefinitions")
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
_OPEN: Json = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def set_defaults(crd: Json) -> None:
    """Set the defaults of a CRD, in place."""
    spec = crd.get("spec")
    if not isinstance(spec, dict):
        return
    names = spec.get("names")
    if isinstance(names, dict) and isinstance(names.get("kind"), str):
        names.setdefault("singular", names["kind"].lower())
        names.setdefault("listKind", names["kind"] + "List")
    spec.setdefault("conversion", {"strategy": "None"})


def check(crd: Json) -> list[Cause]:
    """Validate a CRD."""
    spec = crd.get("spec")
    if not isinstance(spec, dict):
        return [required("spec")]
    names = spec.get("names")
    group = spec.get("group")
    if not isinstance(group, str) or not group:
        return [required("spec.group")]
    if not isinstance(names, dict):
        return [required("spec.names")]
    causes = subdomain("spec.group", group)
    for part in ("plural", "kind"):
        if not isinstance(names.get(part), str) or not names[part]:
            causes.append(required(f"spec.names.{part}"))
    if causes:
        return causes
    causes += label_1035("spec.names.plural", names["plural"])
    expected = f"{names['plural']}.{group}"
    if crd["metadata"].get("name") != expected:
        causes.append(wrong("metadata.name", crd["metadata"].get("name"), 'must be spec.names.plural+"."+spec.group'))
    if spec.get("scope") not in ("Namespaced", "Cluster"):
        causes.append(unsupported("spec.scope", spec.get("scope", ""), ["Cluster", "Namespaced"]))
    versions = spec.get("versions")
    if not isinstance(versions, list) or not versions or not all(isinstance(v, dict) for v in versions):
        return [*causes, required("spec.versions", "at least one version is needed")]
    if sum(v.get("storage") is True for v in versions) != 1:
        causes.append(wrong("spec.versions", "...", "must have exactly one version marked as storage version"))
    for index, version in enumerate(versions):
        causes += _check_version(version, f"spec.versions[{index}]")
    return causes


def _check_version(version: Json, where: str) -> list[Cause]:
    name = version.get("name")
    if not isinstance(name, str) or not name:
        return [required(f"{where}.name")]
    causes = label_1035(f"{where}.name", name)
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if not isinstance(schema, dict):
        causes.append(required(f"{where}.schema.openAPIV3Schema", "schemas are required"))
    elif schema.get("type") != "object":
        message = "must be object at the root"
        causes.append(wrong(f"{where}.schema.openAPIV3Schema.type", schema.get("type", ""), message))
    else:
        causes += schema_faults(schema, f"{where}.schema.openAPIV3Schema")
    for index, declared in enumerate(version.get("additionalPrinterColumns") or ()):
        try:
            value_of(declared.get("jsonPath") or "")
        except ValueError as failure:
            causes.append(
                wrong(f"{where}.additionalPrinterColumns[{index}].jsonPath", declared.get("jsonPath"), str(failure))
            )
    return causes


def set_accepted_status(crd: Json, now: str) -> None:
    """Set the status of an accepted CRD, in place."""
    spec = crd["spec"]
    stored = next(v["name"] for v in spec["versions"] if v.get("storage"))
    status = crd.setdefault("status", {})
    versions = status.get("storedVersions") or []
    status["storedVersions"] = versions if stored in versions else [*versions, stored]
    status["acceptedNames"] = dict(spec["names"])
    held = {c.get("type"): c for c in status.get("conditions") or ()}
    for kind, reason, message in (
        ("NamesAccepted", "NoConflicts", "no conflicts found"),
        ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
    ):
        held.setdefault(
            kind,
            {"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now},
        )
    status["conditions"] = list(held.values())


def resources(crd: Json) -> list[Resource]:
    """The resources that a valid CRD defines, one for each served version."""
    spec = crd["spec"]
    names = spec["names"]
    stored = next(v["name"] for v in spec["versions"] if v.get("storage"))
    found = []
    for version in spec["versions"]:
        if not version.get("served"):
            continue
        schema: Json = version["schema"]["openAPIV3Schema"]
        found.append(
            Resource(
                group=spec["group"],
                version=version["name"],
                plural=names["plural"],
                kind=names["kind"],
                namespaced=spec["scope"] == "Namespaced",
                singular=names.get("singular") or names["kind"].lower(),
                short_names=tuple(names.get("shortNames") or ()),
                categories=tuple(names.get("categories") or ()),
                subresources=("status",) if "status" in (version.get("subresources") or {}) else (),
                group_resource=(spec["group"], names["plural"]),
                storage_version=f"{spec['group']}/{stored}",
                custom=CrdVersion(
                    schema=schema or _OPEN,
                    columns=tuple(version.get("additionalPrinterColumns") or ()),
                    crd_name=crd["metadata"]["name"],
                    check=make_schema_validator(schema),
                ),
            )
        )
    return found
