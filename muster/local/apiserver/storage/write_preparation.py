"""What is stored for what a request sends: strict reading, defaults, checks, managed fields, generation."""

from __future__ import annotations

import random

from muster.api.values.timestamps import whole_time
from muster.local.apiserver.errors import Cause, bad_request
from muster.local.apiserver.kinds.resources import Resource
from muster.local.apiserver.patch.managed_fields import FieldManager, entries, record_update, tracked
from muster.local.apiserver.schema import validation
from muster.local.apiserver.storage import metadata
from muster.local.apiserver.storage.options import WriteOptions
from muster.local.apiserver.storage.stored_objects import Json, StoredObject

Entries = list[Json]


def new_object(resource: Resource, obj: Json, options: WriteOptions, now: float, randomness: random.Random) -> None:
    """Make of what was sent the object that admission sees, in place."""
    read_strictly(resource, obj, options)
    if resource.has_status and resource.kind != "Node":
        # A kubelet creates its Node with a status. All other objects get theirs through the status subresource.
        obj.pop("status", None)
    metadata.prepare_for_create(resource, obj, whole_time(now), randomness)
    validation.set_defaults(resource, obj)
    supplied = obj["metadata"].pop("managedFields", None) or []
    if tracked(resource):  # fields that admission adds later have no manager, as upstream
        if options.subresource != "apply":
            supplied = record_update(resource, obj, None, [], writer(resource, options, "Update", now, subresource=""))
        obj["metadata"]["managedFields"] = supplied


def replacement(
    resource: Resource,
    stored: StoredObject,
    obj: Json,
    options: WriteOptions,
    now: float,
    *,
    needs_version: bool,
    managed: Entries | None = None,
) -> Json:
    """What replaces the stored object where ``obj`` was sent; equal to the stored one if nothing changes."""
    old = served(resource, stored)
    read_strictly(resource, obj, options)
    metadata.prepare_for_update(resource, obj, old, stored, needs_version=needs_version)
    given = obj["metadata"].pop("managedFields", None)
    obj = _writable(resource, obj, old, options.subresource)
    validation.set_defaults(resource, obj, old)
    validation.raise_if_invalid(resource, obj, validation.check(resource, obj, old))
    _refuse_new_finalizers(resource, obj, old)
    if "generation" in old["metadata"] and metadata.spec_changed(resource, obj, old):
        obj["metadata"]["generation"] = old["metadata"]["generation"] + 1
    if not tracked(resource):
        return obj
    if managed is None:
        bare = {**old, "metadata": {k: v for k, v in old["metadata"].items() if k != "managedFields"}}
        managed = entries(old) if given is None or options.subresource else given
        if obj != bare:
            managed = record_update(resource, obj, bare, managed, writer(resource, options, "Update", now))
    if managed:
        obj["metadata"]["managedFields"] = managed
    return obj


def served(resource: Resource, stored: StoredObject) -> Json:
    """The object in the API version of the request."""
    obj = stored.object()
    obj["apiVersion"] = resource.api_version
    return obj


def writer(
    resource: Resource, options: WriteOptions, operation: str, now: float, *, subresource: str | None = None
) -> FieldManager:
    """The manager that the fields of this write are recorded under."""
    part = options.subresource if subresource is None else subresource
    return FieldManager(options.manager or "unknown", operation, part, resource.api_version, whole_time(now))


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
    """The old object with those parts of the new one that this write may change."""
    if subresource == "status":
        kept = {**old, "metadata": {**old["metadata"]}}
        kept.pop("status", None)
        if "status" in obj:
            kept["status"] = obj["status"]
        obj = kept
        obj["metadata"].pop("managedFields", None)
    elif resource.has_status:
        obj.pop("status", None)
        if "status" in old:
            obj["status"] = old["status"]
    if resource.kind == "Namespace" and subresource != "finalize":
        obj["spec"] = old["spec"]
    return obj


def _refuse_new_finalizers(resource: Resource, obj: Json, old: Json) -> None:
    if old["metadata"].get("deletionTimestamp"):
        new = set(obj["metadata"].get("finalizers") or ()) - set(old["metadata"].get("finalizers") or ())
        if new:
            message = f"Forbidden: no new finalizers can be added if the object is being deleted: {sorted(new)}"
            validation.raise_if_invalid(resource, obj, [Cause("metadata.finalizers", message, "FieldValueForbidden")])
