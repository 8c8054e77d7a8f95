"""CustomResourceDefinitions: defaults, validation, status, and the resources they define."""

from typing import Any

from muster.local.apiserver.errors import Cause, required, unsupported, wrong
from muster.local.apiserver.kinds.metadata_validation import label_1035, subdomain
from muster.local.apiserver.kinds.resources import Resource
from muster.local.apiserver.schema.builtin_schemas import schema
from muster.local.apiserver.schema.structural_schemas import missing

Json = dict[str, Any]
CRD_RESOURCE = ("apiextensions.k8s.io", "customresourcedefinitions")


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
    if causes := [required(path) for path in missing(crd, schema("V1CustomResourceDefinition"), "")]:
        return causes
    spec, names = crd["spec"], crd["spec"]["names"]
    causes = subdomain("spec.group", spec["group"]) + label_1035("spec.names.plural", names["plural"])
    causes += label_1035("spec.names.kind", names["kind"].lower())
    if crd["metadata"].get("name") != f"{names['plural']}.{spec['group']}":
        causes.append(wrong("metadata.name", crd["metadata"].get("name"), 'must be spec.names.plural+"."+spec.group'))
    if spec["scope"] not in ("Namespaced", "Cluster"):
        causes.append(unsupported("spec.scope", spec["scope"], ["Cluster", "Namespaced"]))
    if sum(version["storage"] for version in spec["versions"]) != 1:
        causes.append(wrong("spec.versions", "...", "must have exactly one version marked as storage version"))
    for index, version in enumerate(spec["versions"]):
        where = f"spec.versions[{index}]"
        causes += label_1035(f"{where}.name", version["name"])
        root = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        if root.get("type") != "object":
            causes.append(required(f"{where}.schema.openAPIV3Schema", "a schema of type object is required"))
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


def resource(crd: Json) -> Resource:
    """Return the resource that a valid CRD defines, in the version that its objects are stored in."""
    spec = crd["spec"]
    names = spec["names"]
    version = next(each for each in spec["versions"] if each["storage"])
    return Resource(
        group=spec["group"],
        version=version["name"],
        plural=names["plural"],
        kind=names["kind"],
        namespaced=spec["scope"] == "Namespaced",
        singular=names.get("singular") or names["kind"].lower(),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=("status",) if "status" in (version.get("subresources") or {}) else (),
        custom=version["schema"]["openAPIV3Schema"],
    )
