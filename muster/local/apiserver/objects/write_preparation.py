"""Prepares a request's object to be stored: merge patch (RFC 7386), strict reading, defaults, admission, generation."""

from typing import Any

from muster.local.apiserver.errors import Cause, bad_request, forbidden
from muster.local.apiserver.kinds import pods
from muster.local.apiserver.kinds.resources import Resource
from muster.local.apiserver.objects import metadata
from muster.local.apiserver.objects.options import WriteOptions
from muster.local.apiserver.schema import validation
from muster.local.apiserver.storage.stored_objects import Json, StoredObject
from muster.local.apiserver.storage.versioned_store import VersionedStore


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
    metadata.prepare_for_update(resource, obj, old, stored, needs_version=needs_version)
    obj = _writable(resource, obj, old, options.subresource)
    validation.set_defaults(resource, obj)
    validation.raise_if_invalid(resource, obj, validation.check(resource, obj))
    _refuse_new_finalizers(resource, obj, old)
    if "generation" in old["metadata"] and metadata.spec_changed(resource, obj, old):
        obj["metadata"]["generation"] = old["metadata"]["generation"] + 1
    return obj


def read_strictly(resource: Resource, obj: Json, options: WriteOptions) -> None:
    """Drop unknown fields; refuse the object for them, or warn of them, as the request asks."""
    lost = validation.prune_unknown(resource, obj)
    if lost and options.strictness == "Strict":
        listed = ", ".join(f'unknown field "{path}"' for path in lost)
        raise (
            validation.unreadable(resource, f"strict decoding error: {listed}")
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
            validation.raise_if_invalid(resource, obj, [Cause("metadata.finalizers", message, "FieldValueForbidden")])


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
    """Apply a merge patch. Neither argument is modified."""
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
