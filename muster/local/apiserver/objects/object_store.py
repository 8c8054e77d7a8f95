"""Create, get, list, update, patch and delete, for the HTTP handlers and for callers in this process.

Every method is synchronous and runs on the event loop's thread, so each call is atomic: no other write happens between
reading the old object and writing the new one. A deletion (preconditions, grace period, finalizers, removal) has the
order of steps of apiserver pkg/registry/generic/registry/store.go.
"""

from collections.abc import Callable
from typing import Any

from muster.api.values.timestamps import whole_time
from muster.local.apiserver import schema
from muster.local.apiserver.errors import Cause, already_exists, conflict, forbidden, not_found
from muster.local.apiserver.kinds.resources import Registry, Resource
from muster.local.apiserver.objects import write_preparation
from muster.local.apiserver.objects.write_preparation import DeleteOptions, WriteOptions, admit, merge_patch
from muster.local.apiserver.storage.stored_objects import Json, Selector, StoredObject
from muster.local.apiserver.storage.versioned_store import VersionedStore

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
CONTENTS = "kubernetes"
ORPHAN = "orphan"
"""Finalizers of the garbage collector: of a CRD with objects, of a Namespace, of an owner that leaves dependents."""
_IMMORTAL = frozenset(("default", "kube-public", "kube-system"))


def check_preconditions(resource: Resource, stored: StoredObject, options: DeleteOptions) -> None:
    """Raise ApiError 409 if the uid or resourceVersion differs, 403 if the object must not be deleted."""
    if resource.group_resource == ("", "namespaces") and stored.name in _IMMORTAL:
        raise forbidden(resource.qualified, stored.name, "this namespace may not be deleted")
    for label, wanted, held in (
        ("UID", options.uid, stored.uid),
        ("ResourceVersion", options.version, str(stored.version)),
    ):
        if wanted and wanted != held:
            why = f"Precondition failed: {label} in precondition: {wanted}, {label} in object meta: {held}"
            raise conflict(resource.qualified, stored.name, why)


def grace_of(obj: Json, asked: int | None) -> int:
    """Return the grace period of a pod in seconds; 0 if it is not bound to a node or has finished."""
    spec: dict[str, Any] = obj.get("spec") or {}
    phase = (obj.get("status") or {}).get("phase")
    if not spec.get("nodeName") or phase in ("Succeeded", "Failed"):
        return 0
    own = spec.get("terminationGracePeriodSeconds")
    return max(0, asked if asked is not None else 30 if own is None else int(own))


def mark(resource: Resource, obj: Json, options: DeleteOptions, now: float) -> bool:
    """Set the deletion fields of an object, in place; False if it is to be removed at once."""
    meta = obj["metadata"]
    already = bool(meta.get("deletionTimestamp"))
    finalizers: list[str] = meta.get("finalizers") or []
    if not already:
        own = {"CustomResourceDefinition": [CLEANUP], "Namespace": [CONTENTS]}.get(resource.kind, [])
        own += [ORPHAN] if options.propagation == "Orphan" else []
        if finalizers := list(dict.fromkeys([*finalizers, *own])):
            meta["finalizers"] = finalizers
    grace = grace_of(obj, options.grace) if resource.group_resource == ("", "pods") else 0
    if already:
        # A second delete can only shorten the grace period.
        grace = min(grace, int(meta.get("deletionGracePeriodSeconds") or 0))
    if grace == 0 and not finalizers:
        return False
    if not already or grace != meta.get("deletionGracePeriodSeconds"):
        meta["deletionTimestamp"] = whole_time(now + grace) if not already or grace else meta["deletionTimestamp"]
        meta["deletionGracePeriodSeconds"] = grace
    if not already and "generation" in meta:
        meta["generation"] += 1
    if resource.kind == "Namespace":
        obj.setdefault("status", {})["phase"] = "Terminating"
    return True


def finished(obj: Json) -> bool:
    """Return True if an object that is being deleted has no finalizer and no grace period left."""
    meta = obj["metadata"]
    left = meta.get("finalizers") or meta.get("deletionGracePeriodSeconds")
    return bool(meta.get("deletionTimestamp")) and not left


_DEFAULT_WRITE = WriteOptions()
_DEFAULT_DELETE = DeleteOptions()
_NAMESPACES = ("", "namespaces")
_NAME_ATTEMPTS = 8


class ObjectStore:
    """The objects of all resources. `clock` returns wall-clock seconds."""

    def __init__(self, versions: VersionedStore, registry: Registry, clock: Callable[[], float]) -> None:
        self.versions = versions
        self.registry = registry
        self._clock = clock

    def resource(self, api_version: str, plural: str) -> Resource:
        """Return the resource served as this apiVersion and plural; ApiError 404 if there is none."""
        group, _, version = api_version.rpartition("/")
        return self.registry.find(group, version, plural)

    def get(self, resource: Resource, namespace: str, name: str) -> StoredObject:
        """Get one object; ApiError 404 if it does not exist."""
        stored = self.versions.lookup(resource.group_resource, namespace if resource.namespaced else "", name)
        if stored is None:
            raise not_found(resource.qualified, name)
        return stored

    def list(self, resource: Resource, namespace: str = "", selector: Selector | None = None) -> list[StoredObject]:
        """Return all objects that the selector matches, ordered by namespace and name."""
        found = self.versions.scan(resource.group_resource, namespace)
        return found if selector is None else [stored for stored in found if selector.selects(stored)]

    def create(
        self, resource: Resource, namespace: str, body: Any, options: WriteOptions = _DEFAULT_WRITE
    ) -> StoredObject:
        """Create an object; ApiError 400, 403, 404, 409 or 422 if it is refused. The body is modified."""
        obj = schema.check_type(resource, body)
        write_preparation.set_namespace_and_name(resource, obj, namespace)
        self._require_open_namespace(resource, namespace, obj)
        generated = not obj["metadata"].get("name") and bool(obj["metadata"].get("generateName"))
        write_preparation.read_strictly(resource, obj, options)
        if resource.has_status and resource.kind != "Node":
            # A kubelet creates its Node with a status. All other objects get theirs through the status subresource.
            obj.pop("status", None)
        write_preparation.prepare_for_create(resource, obj, whole_time(self._clock()))
        schema.set_defaults(resource, obj)
        admit(resource, obj, self.versions)
        schema.raise_if_invalid(resource, obj, schema.check(resource, obj))
        for _ in range(_NAME_ATTEMPTS):
            name = obj["metadata"]["name"]
            if self.versions.lookup(resource.group_resource, obj["metadata"].get("namespace") or "", name) is None:
                break
            if not generated:
                raise already_exists(resource.qualified, name)
            obj["metadata"]["name"] = write_preparation.generate_name(obj["metadata"]["generateName"])
        else:
            raise already_exists(resource.qualified, obj["metadata"]["name"])
        return self._put(resource, obj, options)

    def update(
        self, resource: Resource, namespace: str, name: str, body: Any, options: WriteOptions = _DEFAULT_WRITE
    ) -> StoredObject:
        """Replace an object or, by `options.subresource`, its status; ApiError 409 if the resourceVersion is stale."""
        stored = self.get(resource, namespace, name)
        obj = schema.check_type(resource, body)
        write_preparation.set_namespace_and_name(resource, obj, namespace, name)
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
        obj = schema.check_type(resource, change(stored.object()))
        write_preparation.set_namespace_and_name(resource, obj, namespace, name)
        return self._replace(resource, stored, obj, options, needs_version=False)

    def ensure(
        self, resource: Resource, namespace: str, body: Any, options: WriteOptions = _DEFAULT_WRITE
    ) -> StoredObject:
        """Create an object, or give the one of its name the fields of `body`; the metadata of both is merged."""
        name = body["metadata"]["name"]
        if self.versions.lookup(resource.group_resource, namespace if resource.namespaced else "", name) is None:
            return self.create(resource, namespace, body, options)

        def over(live: Json) -> Json:
            return {**live, **body, "metadata": merge_patch(live["metadata"], body["metadata"])}

        return self.patch(resource, namespace, name, over, options)

    def delete(
        self, resource: Resource, namespace: str, name: str, options: DeleteOptions = _DEFAULT_DELETE
    ) -> StoredObject:
        """Delete an object, or mark it as being deleted. Returns its last state."""
        stored = self.get(resource, namespace, name)
        check_preconditions(resource, stored, options)
        obj = stored.object()
        if not mark(resource, obj, options, self._clock()):
            return stored if options.dry_run else self._drop(resource, stored, obj)
        if options.dry_run or obj == stored.object():
            return stored
        return self.versions.put(stored.group_resource, obj)

    def finalize(self, resource: Resource, stored: StoredObject, finalizer: str) -> None:
        """Remove a finalizer. If the object is being deleted and has none left, it is removed."""
        obj = stored.object()
        obj["metadata"]["finalizers"] = [each for each in obj["metadata"]["finalizers"] if each != finalizer]
        self._write_or_remove(resource, stored, obj, _DEFAULT_WRITE)

    def _replace(
        self,
        resource: Resource,
        stored: StoredObject,
        obj: Json,
        options: WriteOptions,
        *,
        needs_version: bool,
    ) -> StoredObject:
        new = write_preparation.replacement(resource, stored, obj, options, needs_version=needs_version)
        if new == stored.object():
            return stored
        return self._write_or_remove(resource, stored, new, options)

    def _write_or_remove(
        self, resource: Resource, stored: StoredObject, obj: Json, options: WriteOptions
    ) -> StoredObject:
        if finished(obj):
            return stored if options.dry_run else self._drop(resource, stored, obj)
        return self._put(resource, obj, options)

    def _put(self, resource: Resource, obj: Json, options: WriteOptions) -> StoredObject:
        is_definition = resource.group_resource == schema.CRD_RESOURCE
        if is_definition:
            schema.set_accepted_status(obj, whole_time(self._clock()))
        if options.dry_run:
            return self.versions.render(resource.group_resource, obj)
        stored = self.versions.put(resource.group_resource, obj)
        if is_definition:
            self.install(obj)
        return stored

    def _drop(self, resource: Resource, stored: StoredObject, obj: Json) -> StoredObject:
        last = self.versions.drop(stored, obj)
        if resource.group_resource == schema.CRD_RESOURCE:
            self.registry.remove(stored.name)
        return last

    def install(self, crd: Json) -> None:
        """Serve the resource that a stored CRD defines."""
        self.registry.install(schema.resource(crd))

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
