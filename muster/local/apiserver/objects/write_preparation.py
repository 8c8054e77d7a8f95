"""Prepares a request's object to be stored: metadata, merge patch, strict reading, defaults, admission, generation."""

import secrets
import uuid
from dataclasses import dataclass, field
from typing import Any

from muster.local.apiserver import schema
from muster.local.apiserver.errors import Cause, bad_request, conflict, forbidden, invalid, wrong
from muster.local.apiserver.kinds import pods
from muster.local.apiserver.kinds.resources import Resource
from muster.local.apiserver.storage.stored_objects import StoredObject
from muster.local.apiserver.storage.versioned_store import VersionedStore


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options of a create, update or patch (meta/v1 CreateOptions, UpdateOptions, PatchOptions).

    `strictness` is fieldValidation: Strict, Warn or Ignore. With Warn, unknown fields are added to `warnings`.
    """

    dry_run: bool = False
    strictness: str = "Ignore"
    subresource: str = ""
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """Options of a delete (meta/v1 DeleteOptions); `uid` and `version` are its preconditions.

    `grace` is in seconds, None for the object's own. `propagation` Orphan keeps the dependents; any other
    deletes them after the object.
    """

    grace: int | None = None
    propagation: str = ""
    uid: str = ""
    version: str = ""
    dry_run: bool = False


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
    """Set the metadata that the server gives a new object, in place: name, uid, timestamp, generation."""
    meta = obj["metadata"]
    if meta.get("resourceVersion"):
        raise bad_request("resourceVersion should not be set on objects to be created")
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = generate_name(meta["generateName"])
    for key in (*_UNKEPT, "deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion", "generation"):
        meta.pop(key, None)
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
    for key in (*_UNKEPT, *_KEPT):
        meta.pop(key, None)
    meta |= {key: held[key] for key in _KEPT if key in held}
    _drop_empty(meta)


def _drop_empty(meta: Json) -> None:
    for key in ("labels", "annotations", "finalizers", "ownerReferences"):
        if key in meta and not meta[key]:
            del meta[key]


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


def replacement(
    resource: Resource,
    stored: StoredObject,
    obj: Json,
    options: WriteOptions,
    *,
    needs_version: bool,
) -> Json:
    """Return the object that replaces the stored one if ``obj`` was sent; equal to that if nothing changes."""
    old = stored.object()
    read_strictly(resource, obj, options)
    prepare_for_update(resource, obj, old, stored, needs_version=needs_version)
    obj = _writable(resource, obj, old, options.subresource)
    schema.set_defaults(resource, obj)
    schema.raise_if_invalid(resource, obj, schema.check(resource, obj))
    _refuse_new_finalizers(resource, obj, old)
    if "generation" in old["metadata"] and spec_changed(resource, obj, old):
        obj["metadata"]["generation"] = old["metadata"]["generation"] + 1
    return obj


def read_strictly(resource: Resource, obj: Json, options: WriteOptions) -> None:
    """Drop unknown fields; refuse the object for them, or warn of them, as the request asks."""
    lost = schema.prune_unknown(resource, obj)
    if lost and options.strictness == "Strict":
        listed = ", ".join(f'unknown field "{path}"' for path in lost)
        raise (
            schema.unreadable(resource, f"strict decoding error: {listed}")
            if not resource.custom
            else bad_request(f"strict decoding error: {listed}")
        )
    if lost and options.strictness == "Warn":
        options.warnings.extend(f'unknown field "{path}"' for path in lost)


def _writable(resource: Resource, obj: Json, old: Json, subresource: str) -> Json:
    """Return the old object with those parts of the new one that this write may change."""
    if subresource == "status":
        kept = {**old, "metadata": {**old["metadata"]}}
        kept.pop("status", None)
        if "status" in obj:
            kept["status"] = obj["status"]
        obj = kept
    elif resource.has_status:
        obj.pop("status", None)
        if "status" in old:
            obj["status"] = old["status"]
    return obj


def _refuse_new_finalizers(resource: Resource, obj: Json, old: Json) -> None:
    if old["metadata"].get("deletionTimestamp"):
        new = set(obj["metadata"].get("finalizers") or ()) - set(old["metadata"].get("finalizers") or ())
        if new:
            message = f"Forbidden: no new finalizers can be added if the object is being deleted: {sorted(new)}"
            schema.raise_if_invalid(resource, obj, [Cause("metadata.finalizers", message, "FieldValueForbidden")])


_CLASSES = ("scheduling.k8s.io", "priorityclasses")


def admit(resource: Resource, obj: Json, versions: VersionedStore) -> None:
    """Admit a new object, in place; ApiError 403 for a pod whose PriorityClass does not exist, and for every Job."""
    match resource.group_resource:
        case ("batch", "jobs"):
            why = "the local cluster runs no Jobs; create a Pod (kubectl run), or an Experiment (muster submit)"
            raise forbidden("jobs.batch", obj["metadata"].get("name", ""), why)
        case ("", "pods"):
            pods.admit(obj)
            wanted = (obj.get("spec") or {}).get("priorityClassName")
            if wanted:
                found = versions.lookup(_CLASSES, "", wanted)
                if found is None:
                    why = f"no PriorityClass with name {wanted} was found"
                    raise forbidden("pods", obj["metadata"].get("name", ""), why)
                obj["spec"]["priority"] = found.object().get("value", 0)


def merge_patch(target: Any, patch: Any) -> Any:
    """Apply a merge patch (RFC 7386). Neither argument is modified."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


def is_merge_patch(strategic: Any) -> bool:
    """Return True if a strategic merge patch is a merge patch too: it has no list and no directive such as `$patch`.

    `kubectl apply` of a changed ConfigMap, Secret or label sends such a one.
    """
    if isinstance(strategic, list):
        return False
    return not isinstance(strategic, dict) or all(
        not key.startswith("$") and is_merge_patch(value) for key, value in strategic.items()
    )
