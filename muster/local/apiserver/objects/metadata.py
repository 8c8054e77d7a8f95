"""The metadata that the server sets: generated name, uid, resourceVersion, generation, timestamps."""

import secrets
import uuid
from typing import Any

from muster.local.apiserver.errors import bad_request, conflict, invalid, wrong
from muster.local.apiserver.kinds.resources import Resource
from muster.local.apiserver.storage.stored_objects import StoredObject

Json = dict[str, Any]
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_GENERATED_BASE = 58
_UNCOUNTED = frozenset(("Lease", "Namespace", "Node", "PersistentVolumeClaim", "Service"))
_UNKEPT = ("selfLink", "managedFields")
_KEPT = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds", "generateName")


def generate_name(base: str) -> str:
    """Return a name for a generateName: the base, truncated to leave room, and five random characters."""
    return base[:_GENERATED_BASE] + "".join(secrets.choice(_ALPHABET) for _ in range(5))


def set_namespace_and_name(resource: Resource, obj: Json, namespace: str, name: str = "") -> None:
    """Set namespace and name from the path, in place; ApiError 400 if the object has others."""
    meta = obj["metadata"]
    given = meta.get("namespace") or ""
    if resource.namespaced:
        if given and given != namespace:
            raise bad_request(
                "the namespace of the provided object does not match the namespace sent on the request "
                f"({given} != {namespace})"
            )
        meta["namespace"] = namespace
    else:
        meta.pop("namespace", None)
    if name:
        if meta.get("name") and meta["name"] != name:
            raise bad_request(f"the name of the object ({meta['name']}) does not match the name on the URL ({name})")
        meta["name"] = name


def prepare_for_create(resource: Resource, obj: Json, now: str) -> None:
    """Set the metadata of a new object, in place."""
    meta = obj["metadata"]
    if meta.get("resourceVersion"):
        raise bad_request("resourceVersion should not be set on objects to be created")
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = generate_name(meta["generateName"])
    for field in (*_UNKEPT, "deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion", "generation"):
        meta.pop(field, None)
    meta["uid"] = str(uuid.uuid4())
    meta["creationTimestamp"] = now
    if has_generation(resource, obj):
        meta["generation"] = 1
    _drop_empty(meta)


def prepare_for_update(resource: Resource, new: Json, old: Json, stored: StoredObject, *, needs_version: bool) -> None:
    """Carry the old metadata over to an updated object, in place; ApiError 409 if uid or resourceVersion differ."""
    meta, held = new["metadata"], old["metadata"]
    if meta.get("uid") and meta["uid"] != stored.uid:
        why = f"Precondition failed: UID in precondition: {meta['uid']}, UID in object meta: {stored.uid}"
        raise conflict(resource.qualified, stored.name, why)
    version = meta.get("resourceVersion")
    if version and version != str(stored.version):
        if not version.isdigit():
            cause = wrong("metadata.resourceVersion", version, "must be a number")
            raise invalid(resource.kind, resource.group, stored.name, [cause])
        why = "the object has been modified; please apply your changes to the latest version and try again"
        raise conflict(resource.qualified, stored.name, why)
    if not version and needs_version and resource.custom is not None:
        cause = wrong("metadata.resourceVersion", "0x0", "must be specified for an update")
        raise invalid(resource.kind, resource.group, stored.name, [cause])
    meta["resourceVersion"] = str(stored.version)
    for field in _UNKEPT:
        meta.pop(field, None)
    for field in _KEPT:
        if field in held:
            meta[field] = held[field]
        else:
            meta.pop(field, None)
    _drop_empty(meta)


def _drop_empty(meta: Json) -> None:
    for field in ("labels", "annotations", "finalizers", "ownerReferences"):
        if field in meta and not meta[field]:
            del meta[field]


def has_generation(resource: Resource, obj: Json) -> bool:
    """Return True if objects of a resource have metadata.generation."""
    return resource.custom is not None or ("spec" in obj and resource.kind not in _UNCOUNTED)


def spec_changed(resource: Resource, new: Json, old: Json) -> bool:
    """Return True if a change increments the generation: of the spec, or of any CR field but metadata and status."""
    if resource.custom is None:
        return bool(new.get("spec") != old.get("spec"))
    ignored = ("metadata", "status") if resource.has_status else ("metadata",)
    names = (new.keys() | old.keys()) - set(ignored)
    return any(new.get(name) != old.get(name) for name in names)
