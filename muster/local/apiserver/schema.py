"""Schemas of built-in kinds and of custom resources, and what they do to an object before it is stored.

That is a type check, pruning, defaulting and validation, all in place.

Schemas of built-in kinds are made from the typed models of kubernetes_asyncio. Each model class lists its fields with
their types (`openapi_types`, `attribute_map`), and the setter of a required field refuses None. The classes are
imported at the first use, which takes 0.3 s, and not at the start.

Rules of custom resources are from the Kubernetes documentation ("Specifying a structural schema") and from
apiextensions pkg/apiserver/schema. The values of custom resources are not checked: `muster lint` and the daemon do
that.
"""

import base64
import copy
import functools
import re
from collections.abc import Iterator
from typing import Any

from muster.local.apiserver.errors import ApiError, Cause, bad_request, invalid, required, unsupported, wrong
from muster.local.apiserver.kinds import pods
from muster.local.apiserver.kinds.pods import check_metadata, label_1035, metadata_types, subdomain
from muster.local.apiserver.kinds.resources import Resource

Json = dict[str, Any]
_MAP = re.compile(r"dict\(str, (.+)\)")
_LIST = re.compile(r"list\[(.+)\]")
SCALARS: dict[str, Json] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "datetime": {"type": "string", "format": "date-time"},
}
_QUANTITIES = frozenset(("limits", "requests", "capacity", "allocatable", "overhead", "default", "allocatedResources"))


def model_name(version: str, kind: str) -> str:
    """Return the name of the model class of a built-in kind."""
    return "CoreV1Event" if kind == "Event" else f"{version.capitalize()}{kind}"


@functools.lru_cache(maxsize=1_024)
def schema(name: str) -> Json:
    """Return the schema of a model, with nested schemas in place. A recursive model has a recursive schema."""
    from kubernetes_asyncio.client import models

    model = getattr(models, name)
    found: Json = {"type": "object", "properties": {}, "required": []}
    _building[name] = found
    for attribute, field in model.attribute_map.items():
        found["properties"][field] = _typed(model.openapi_types[attribute], field)
        constants = getattr(model, attribute).fset.__code__.co_consts
        if any(isinstance(each, str) and "must not be `None`" in each for each in constants):
            found["required"].append(field)
    del _building[name]
    return found


_building: dict[str, Json] = {}


def _typed(kind: str, field: str) -> Json:
    if kind in SCALARS:
        return SCALARS[kind]
    if kind == "object":
        return {"x-kubernetes-preserve-unknown-fields": True}
    if found := _MAP.fullmatch(kind):
        inner = _typed(found[1], "")
        if found[1] == "str" and field in _QUANTITIES:
            inner = {"type": "string", "x-quantity": True}
        return {"type": "object", "additionalProperties": inner}
    if found := _LIST.fullmatch(kind):
        return {"type": "array", "items": _typed(found[1], "")}
    return _building.get(kind) or schema(kind)


_EMBEDDED = ("apiVersion", "kind", "metadata")
_TYPES: dict[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}
_GO_NAMES = {dict: "object", list: "array", str: "string", bool: "bool", int: "number", float: "number"}


def _properties(schema: Json) -> Json:
    """Return the schemas of the fields. Below `items` and `additionalProperties` a CRD may hold anything."""
    found = schema.get("properties")
    return {name: inner for name, inner in found.items() if isinstance(inner, dict)} if isinstance(found, dict) else {}


def _below(value: Any, schema: Json) -> Iterator[tuple[Any, Any, Json]]:
    """Yield the parts of a value that its schema describes: key or index, the field or item, and the schema of that."""
    if isinstance(value, dict):
        properties = _properties(schema)
        for key in list(value):
            inner = properties.get(key) or schema.get("additionalProperties")
            if isinstance(inner, dict):
                yield key, value[key], inner
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        yield from ((index, item, schema["items"]) for index, item in enumerate(value))


def _at(path: str, part: Any) -> str:
    return f"{path}[{part}]" if isinstance(part, int) else f"{path}.{part}" if path else str(part)


def prune(value: Any, schema: Json, path: str = "", *, embedded: bool = False) -> list[str]:
    """Remove fields that the schema does not declare, in place; returns their paths."""
    embedded = embedded or bool(schema.get("x-kubernetes-embedded-resource"))
    lost: list[str] = []
    keep = schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("additionalProperties")
    if isinstance(value, dict) and not keep:
        known = {*_properties(schema), *(_EMBEDDED if embedded else ())}
        for key in [each for each in value if each not in known]:
            del value[key]
            lost.append(_at(path, key))
    for key, item, inner in _below(value, schema):
        if not (embedded and key in _EMBEDDED):
            lost += prune(item, inner, _at(path, key))
    return lost


def fill_defaults(value: Any, schema: Json) -> None:
    """Set the defaults of fields that are missing (or null where null is not allowed), in place."""
    if isinstance(value, dict):
        for key, inner in _properties(schema).items():
            absent = key not in value or (value[key] is None and not inner.get("nullable"))
            if absent and "default" in inner:
                value[key] = copy.deepcopy(inner["default"])
    for _, item, inner in _below(value, schema):
        fill_defaults(item, inner)


def decode_types(value: Any, shape: Json, path: str = "") -> list[str]:
    """Decode as Go does: drop nulls, convert numeric quantities to strings, in place. Returns the type errors."""
    expected = shape.get("type")
    if expected is None:
        return []
    fits = isinstance(value, _TYPES[expected]) and (expected == "boolean" or not isinstance(value, bool))
    if not fits:
        kind = _GO_NAMES.get(type(value), "null")
        return [f"json: cannot unmarshal {kind} into Go struct field {path} of type {expected}"]
    faults: list[str] = []
    for key, item, inner in _below(value, shape):
        if item is None and isinstance(value, dict):
            del value[key]
            continue
        if inner.get("x-quantity") and isinstance(item, int | float) and not isinstance(item, bool):
            item = value[key] = str(item)
        faults += decode_types(item, inner, _at(path, key))
    return faults


def missing(value: Any, shape: Json, path: str) -> list[str]:
    """Return the paths of required fields that are missing below `path`."""
    wanted = (shape.get("required") or ()) if isinstance(value, dict) else ()
    found = [_at(path, name) for name in wanted if name not in value]
    for key, item, inner in _below(value, shape):
        found += missing(item, inner, _at(path, key))
    return found


CRD_RESOURCE = ("apiextensions.k8s.io", "customresourcedefinitions")


def set_crd_defaults(crd: Json) -> None:
    """Set the defaults of a CRD, in place."""
    spec = crd.get("spec")
    if not isinstance(spec, dict):
        return
    names = spec.get("names")
    if isinstance(names, dict) and isinstance(names.get("kind"), str):
        names.setdefault("singular", names["kind"].lower())
        names.setdefault("listKind", names["kind"] + "List")
    spec.setdefault("conversion", {"strategy": "None"})


def check_crd(crd: Json) -> list[Cause]:
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


def unreadable(resource: Resource, why: str) -> ApiError:
    """Return 400 for an object that cannot be decoded into its kind."""
    return bad_request(f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {why}')


def check_type(resource: Resource, obj: Any) -> Json:
    """Check that a body is an object of this kind. Missing apiVersion and kind of a built-in are filled in."""
    if not isinstance(obj, dict):
        raise bad_request("the body must be a JSON object")
    for field, expected in (("apiVersion", resource.api_version), ("kind", resource.kind)):
        given = obj.get(field)
        if not given and not resource.custom:
            obj[field] = expected
        elif given != expected:
            raise bad_request(
                f"the {field} in the data ({given}) does not match the expected {field} ({expected}); "
                f"send {resource.kind} objects of {resource.api_version} to this path"
            )
    meta = obj.get("metadata")
    if meta is None:
        meta = obj["metadata"] = {}
    if not isinstance(meta, dict):
        raise unreadable(resource, "metadata must be an object")
    if fault := metadata_types(meta):
        raise unreadable(resource, fault)
    return obj


def prune_unknown(resource: Resource, obj: Json) -> list[str]:
    """Remove unknown fields and return their paths; ApiError 400 if a field of a built-in has a wrong type."""
    if resource.custom is not None:
        return prune(obj, resource.custom, embedded=True)
    shape = schema(model_name(resource.version, resource.kind))
    lost = prune(obj, shape)
    faults = decode_types(obj, shape)
    if faults:
        raise unreadable(resource, faults[0])
    return lost


def set_defaults(resource: Resource, obj: Json) -> None:
    """Set the defaults of the fields that are missing."""
    if resource.custom is not None:
        fill_defaults(obj, resource.custom)
        return
    match resource.kind:
        case "Pod":
            pods.set_defaults(obj)
        case "Service":
            _set_service_defaults(obj)
        case "Namespace":
            obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = obj["metadata"].get("name", "")
            obj.setdefault("status", {}).setdefault("phase", "Active")
        case "Secret":
            obj.setdefault("type", "Opaque")
            plain = obj.pop("stringData", None) or {}
            if plain:
                data = obj.setdefault("data", {})
                data.update({k: base64.b64encode(v.encode()).decode() for k, v in plain.items()})
        case "PersistentVolumeClaim":
            obj.setdefault("status", {}).setdefault("phase", "Pending")
        case "CustomResourceDefinition":
            set_crd_defaults(obj)


def _set_service_defaults(service: Json) -> None:
    """Set the defaults of a Service. It has no address: there is no proxy, and hosts files name its pods."""
    spec = service.setdefault("spec", {})
    spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if "port" in port:
            port.setdefault("targetPort", port["port"])
    service.setdefault("status", {"loadBalancer": {}})


def check(resource: Resource, obj: Json) -> list[Cause]:
    """Validate an object with its defaults set."""
    causes = check_metadata(obj["metadata"], resource.plural, resource.group)
    if resource.custom is not None:
        return causes
    shape = schema(model_name(resource.version, resource.kind))
    if resource.kind == "CustomResourceDefinition":
        return causes + check_crd(obj)
    if "spec" in obj and "spec" in shape["properties"]:
        causes += [required(path) for path in missing(obj["spec"], shape["properties"]["spec"], "spec")]
    if causes:
        return causes
    match resource.kind:
        case "Pod":
            return pods.check(obj)
        case "PriorityClass":
            return [] if "value" in obj else [required("value")]
    return []


def raise_if_invalid(resource: Resource, obj: Json, causes: list[Cause]) -> None:
    """Raise ApiError 422 if there are causes."""
    if causes:
        meta = obj["metadata"]
        raise invalid(resource.kind, resource.group, meta.get("name") or meta.get("generateName") or "", causes)
