"""Prepares an object before it is stored: type check, pruning, defaulting, validation; all in place."""

import base64
from typing import Any

from muster.local.apiserver.errors import ApiError, Cause, bad_request, invalid, required
from muster.local.apiserver.kinds import pods
from muster.local.apiserver.kinds.metadata_validation import check_metadata, metadata_types
from muster.local.apiserver.kinds.resources import Resource
from muster.local.apiserver.schema import crds
from muster.local.apiserver.schema.builtin_schemas import model_name, schema
from muster.local.apiserver.schema.structural_schemas import decode_types, fill_defaults, missing, prune

Json = dict[str, Any]


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
            crds.set_defaults(obj)


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
        return causes + crds.check(obj)
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
