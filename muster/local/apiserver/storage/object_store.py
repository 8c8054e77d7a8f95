"""Create, get, list, update, patch, apply and delete, for the HTTP handlers and for callers in this process.

Every method is synchronous and runs on the event loop's thread, so each call is atomic: no other write happens between
reading the old object and writing the new one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

from muster.api.values.timestamps import whole_time
from muster.local.apiserver.errors import (
    Cause,
    already_exists,
    bad_request,
    conflict,
    forbidden,
    not_found,
    required,
)
from muster.local.apiserver.errors import invalid as invalid_object
from muster.local.apiserver.kinds.admission import admit
from muster.local.apiserver.kinds.registry import Registry
from muster.local.apiserver.kinds.resources import Resource
from muster.local.apiserver.patch.managed_fields import FieldManager, entries, merge_schema_of, record_update, tracked
from muster.local.apiserver.patch.server_side_apply import apply_configuration, overlay
from muster.local.apiserver.schema import crds, validation
from muster.local.apiserver.storage import deletion, metadata
from muster.local.apiserver.storage.options import DeleteOptions, WriteOptions
from muster.local.apiserver.storage.selectors import Selector
from muster.local.apiserver.storage.stored_objects import Json, StoredObject
from muster.local.apiserver.storage.versioned_store import VersionedStore

Entries = list[Json]
_DEFAULT_WRITE = WriteOptions()
_DEFAULT_DELETE = DeleteOptions()
_NAMESPACES = ("", "namespaces")
_NAME_ATTEMPTS = 8


class ObjectStore:
    """`clock` returns wall-clock seconds; `randomness` is the source of uids and generated names."""

    def __init__(
        self, versions: VersionedStore, registry: Registry, *, clock: Callable[[], float], randomness: random.Random
    ) -> None:
        self.versions = versions
        self.registry = registry
        self._clock = clock
        self._randomness = randomness

    def resource(self, api_version: str, plural: str) -> Resource:
        """The resource served as this apiVersion and plural; ApiError 404 if there is none."""
        group, _, version = api_version.rpartition("/")
        return self.registry.find(group, version, plural)

    def get(self, resource: Resource, namespace: str, name: str) -> StoredObject:
        """Get one object; ApiError 404 if it does not exist."""
        stored = self.versions.lookup(resource.group_resource, namespace if resource.namespaced else "", name)
        if stored is None:
            raise not_found(resource.qualified, name)
        return stored

    def list(self, resource: Resource, namespace: str = "", selector: Selector | None = None) -> list[StoredObject]:
        """All objects that the selector matches, ordered by namespace and name."""
        found = self.versions.scan(resource.group_resource, namespace)
        return found if selector is None else [stored for stored in found if selector.selects(stored)]

    def create(
        self, resource: Resource, namespace: str, body: Any, options: WriteOptions = _DEFAULT_WRITE
    ) -> StoredObject:
        """Create an object; ApiError 400, 403, 404, 409 or 422 if it is refused. The body is modified."""
        obj = validation.check_type(resource, body)
        metadata.set_namespace_and_name(resource, obj, namespace)
        self._require_open_namespace(resource, namespace, obj)
        self._read_strictly(resource, obj, options)
        generated = not obj["metadata"].get("name") and bool(obj["metadata"].get("generateName"))
        if resource.has_status and resource.kind != "Node":
            # A kubelet creates its Node with a status. All other objects get theirs through the status subresource.
            obj.pop("status", None)
        metadata.prepare_for_create(resource, obj, whole_time(self._clock()), self._randomness)
        validation.set_defaults(resource, obj)
        self._record_manager(resource, obj, options)
        admit(resource, obj, self.versions)
        validation.raise_if_invalid(resource, obj, validation.check(resource, obj, None))
        for _ in range(_NAME_ATTEMPTS):
            name = obj["metadata"]["name"]
            if self.versions.lookup(resource.group_resource, obj["metadata"].get("namespace") or "", name) is None:
                break
            if not generated:
                raise already_exists(resource.qualified, name)
            obj["metadata"]["name"] = metadata.generate_name(obj["metadata"]["generateName"], self._randomness)
        else:
            raise already_exists(resource.qualified, obj["metadata"]["name"])
        return self._put(resource, obj, options)

    def update(
        self, resource: Resource, namespace: str, name: str, body: Any, options: WriteOptions = _DEFAULT_WRITE
    ) -> StoredObject:
        """Replace an object or, by `options.subresource`, its status; ApiError 409 if the resourceVersion is stale."""
        stored = self.get(resource, namespace, name)
        obj = validation.check_type(resource, body)
        metadata.set_namespace_and_name(resource, obj, namespace, name)
        needs_version = not options.subresource
        return self._replace(resource, stored, obj, options, needs_version=needs_version)

    def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        change: Callable[[Json], Json],
        options: WriteOptions = _DEFAULT_WRITE,
    ) -> StoredObject:
        """Replace an object with the result of `change`."""
        stored = self.get(resource, namespace, name)
        obj = validation.check_type(resource, change(self._served(resource, stored)))
        metadata.set_namespace_and_name(resource, obj, namespace, name)
        return self._replace(resource, stored, obj, options, needs_version=False)

    def apply(
        self, resource: Resource, namespace: str, name: str, body: Any, options: WriteOptions = _DEFAULT_WRITE
    ) -> tuple[StoredObject, bool]:
        """Server-side apply; creates the object if it does not exist. Returns it, and whether it was created."""
        if not options.manager:
            raise invalid_object(
                "PatchOptions", "meta.k8s.io", "", [required("fieldManager", "is required for apply patch")]
            )
        applied = validation.check_type(resource, body)
        metadata.set_namespace_and_name(resource, applied, namespace, name)
        if applied["metadata"].get("managedFields"):
            raise bad_request("metadata.managedFields must be nil")
        self._read_strictly(resource, applied, options)
        writer = self._writer(resource, options, "Apply", options.subresource)
        shape = merge_schema_of(resource)
        stored = self.versions.lookup(resource.group_resource, namespace if resource.namespaced else "", name)
        if stored is None:
            if options.subresource:
                raise not_found(resource.qualified, name)
            if applied["metadata"].get("uid"):
                raise conflict(
                    resource.qualified,
                    name,
                    "uid mismatch: the provided object specified uid of an object that does not exist",
                )
            _, managed = apply_configuration({"metadata": {}}, applied, shape, writer, force=True)
            applied["metadata"]["managedFields"] = managed
            creation = WriteOptions(options.dry_run, options.manager, "Ignore", subresource="apply")
            return self.create(resource, namespace, applied, creation), True
        live = self._served(resource, stored)
        if tracked(resource):
            merged, managed = apply_configuration(live, applied, shape, writer, force=options.force)
        else:
            merged, managed = overlay(live, applied), []
        for field in ("resourceVersion", "uid"):
            if applied["metadata"].get(field):
                merged["metadata"][field] = applied["metadata"][field]
        return self._replace(resource, stored, merged, options, needs_version=False, managed=managed), False

    def delete(
        self, resource: Resource, namespace: str, name: str, options: DeleteOptions = _DEFAULT_DELETE
    ) -> tuple[StoredObject, bool]:
        """Delete an object, or mark it as being deleted. Returns its last state, and whether it was removed."""
        stored = self.get(resource, namespace, name)
        deletion.check_preconditions(resource, stored, options)
        obj = stored.object()
        if not deletion.mark(resource, obj, options, self._clock()):
            if options.dry_run:
                return stored, True
            return self._drop(resource, stored, obj), True
        if options.dry_run or obj == stored.object():
            return stored, False
        return self.versions.put(stored.group_resource, obj), False

    def finalize(self, resource: Resource, namespace: str, name: str, finalizers: Iterable[str]) -> None:
        """Remove finalizers. If the object is being deleted and has none left, it is removed."""
        stored = self.get(resource, namespace, name)
        obj = stored.object()
        done = set(finalizers)
        home = obj["spec"] if resource.kind == "Namespace" else obj["metadata"]
        home["finalizers"] = [f for f in home.get("finalizers") or () if f not in done]
        self._write_or_remove(resource, stored, obj, _DEFAULT_WRITE)

    def _replace(
        self,
        resource: Resource,
        stored: StoredObject,
        obj: Json,
        options: WriteOptions,
        *,
        needs_version: bool,
        managed: Entries | None = None,
    ) -> StoredObject:
        old = self._served(resource, stored)
        self._read_strictly(resource, obj, options)
        metadata.prepare_for_update(resource, obj, old, stored, needs_version=needs_version)
        given = obj["metadata"].pop("managedFields", None)
        if options.subresource == "status":
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
        if resource.kind == "Namespace" and options.subresource != "finalize":
            obj["spec"] = old["spec"]
        validation.set_defaults(resource, obj, old)
        validation.raise_if_invalid(resource, obj, validation.check(resource, obj, old))
        self._refuse_new_finalizers(resource, obj, old)
        if "generation" in old["metadata"] and metadata.spec_changed(resource, obj, old):
            obj["metadata"]["generation"] = old["metadata"]["generation"] + 1
        base = entries(old)
        bare = {**old, "metadata": {k: v for k, v in old["metadata"].items() if k != "managedFields"}}
        if tracked(resource):
            if managed is None:
                writer = self._writer(resource, options, "Update", options.subresource)
                start = base if given is None or options.subresource else given
                managed = record_update(resource, obj, bare, start, writer) if obj != bare else start
            if managed:
                obj["metadata"]["managedFields"] = managed
        if obj == old:
            return stored
        return self._write_or_remove(resource, stored, obj, options)

    def _write_or_remove(
        self, resource: Resource, stored: StoredObject, obj: Json, options: WriteOptions
    ) -> StoredObject:
        if deletion.finished(resource, obj):
            return stored if options.dry_run else self._drop(resource, stored, obj)
        return self._put(resource, obj, options)

    def _put(self, resource: Resource, obj: Json, options: WriteOptions) -> StoredObject:
        obj["apiVersion"] = resource.storage_version
        is_definition = resource.group_resource == crds.CRD_RESOURCE
        if is_definition:
            crds.set_accepted_status(obj, whole_time(self._clock()))
        if options.dry_run:
            return self.versions.render(resource.group_resource, obj)
        stored = self.versions.put(resource.group_resource, obj)
        if is_definition:
            self.install(obj)
        return stored

    def _drop(self, resource: Resource, stored: StoredObject, obj: Json) -> StoredObject:
        last = self.versions.drop(stored, obj)
        if resource.group_resource == crds.CRD_RESOURCE:
            self.registry.remove(stored.name)
        return last

    def install(self, crd: Json) -> None:
        """Serve the resources that a stored CRD defines."""
        served = crds.resources(crd)
        self.registry.install(crd["metadata"]["name"], served)
        if served:
            self.versions.reindex(served[0].group_resource)

    def _served(self, resource: Resource, stored: StoredObject) -> Json:
        """The object in the API version of the request."""
        obj = stored.object()
        obj["apiVersion"] = resource.api_version
        return obj

    def _read_strictly(self, resource: Resource, obj: Json, options: WriteOptions) -> None:
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

    def _require_open_namespace(self, resource: Resource, namespace: str, obj: Json) -> None:
        if not resource.namespaced:
            return
        space = self.versions.lookup(_NAMESPACES, "", namespace)
        if space is None:
            raise not_found("namespaces", namespace)
        if space.terminating:
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            cause = Cause("metadata.namespace", f"namespace {namespace} is being terminated", "NamespaceTerminating")
            raise forbidden(resource.qualified, str(obj["metadata"].get("name") or ""), why, [cause])

    def _refuse_new_finalizers(self, resource: Resource, obj: Json, old: Json) -> None:
        if old["metadata"].get("deletionTimestamp"):
            new = set(obj["metadata"].get("finalizers") or ()) - set(old["metadata"].get("finalizers") or ())
            if new:
                message = f"Forbidden: no new finalizers can be added if the object is being deleted: {sorted(new)}"
                validation.raise_if_invalid(
                    resource, obj, [Cause("metadata.finalizers", message, "FieldValueForbidden")]
                )

    def _record_manager(self, resource: Resource, obj: Json, options: WriteOptions) -> None:
        """Record the managed fields of a new object. Fields that admission adds later have no manager, as upstream."""
        supplied = obj["metadata"].pop("managedFields", None) or []
        if tracked(resource):
            if options.subresource != "apply":
                writer = self._writer(resource, options, "Update", "")
                supplied = record_update(resource, obj, None, [], writer)
            obj["metadata"]["managedFields"] = supplied

    def _writer(self, resource: Resource, options: WriteOptions, operation: str, subresource: str) -> FieldManager:
        now = whole_time(self._clock())
        return FieldManager(options.manager or "unknown", operation, subresource, resource.api_version, now)
