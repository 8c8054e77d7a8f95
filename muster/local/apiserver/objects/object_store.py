"""Create, get, list, update, patch and delete, for the HTTP handlers and for callers in this process.

Every method is synchronous and runs on the event loop's thread, so each call is atomic: no other write happens between
reading the old object and writing the new one.
"""

from collections.abc import Callable
from typing import Any

from muster.api.values.timestamps import whole_time
from muster.local.apiserver.errors import Cause, already_exists, forbidden, not_found
from muster.local.apiserver.kinds.resources import Registry, Resource
from muster.local.apiserver.objects import deletion, metadata, write_preparation
from muster.local.apiserver.objects.options import DeleteOptions, WriteOptions
from muster.local.apiserver.objects.write_preparation import admit, merge_patch
from muster.local.apiserver.schema import crds, validation
from muster.local.apiserver.storage.selectors import Selector
from muster.local.apiserver.storage.stored_objects import Json, StoredObject
from muster.local.apiserver.storage.versioned_store import VersionedStore

_DEFAULT_WRITE = WriteOptions()
_DEFAULT_DELETE = DeleteOptions()
_NAMESPACES = ("", "namespaces")
_NAME_ATTEMPTS = 8


class ObjectStore:
    """`clock` returns wall-clock seconds."""

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
        obj = validation.check_type(resource, body)
        metadata.set_namespace_and_name(resource, obj, namespace)
        self._require_open_namespace(resource, namespace, obj)
        generated = not obj["metadata"].get("name") and bool(obj["metadata"].get("generateName"))
        write_preparation.read_strictly(resource, obj, options)
        if resource.has_status and resource.kind != "Node":
            # A kubelet creates its Node with a status. All other objects get theirs through the status subresource.
            obj.pop("status", None)
        metadata.prepare_for_create(resource, obj, whole_time(self._clock()))
        validation.set_defaults(resource, obj)
        admit(resource, obj, self.versions)
        validation.raise_if_invalid(resource, obj, validation.check(resource, obj))
        for _ in range(_NAME_ATTEMPTS):
            name = obj["metadata"]["name"]
            if self.versions.lookup(resource.group_resource, obj["metadata"].get("namespace") or "", name) is None:
                break
            if not generated:
                raise already_exists(resource.qualified, name)
            obj["metadata"]["name"] = metadata.generate_name(obj["metadata"]["generateName"])
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
        obj = validation.check_type(resource, change(stored.object()))
        metadata.set_namespace_and_name(resource, obj, namespace, name)
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
        deletion.check_preconditions(resource, stored, options)
        obj = stored.object()
        if not deletion.mark(resource, obj, options, self._clock()):
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
        if deletion.finished(obj):
            return stored if options.dry_run else self._drop(resource, stored, obj)
        return self._put(resource, obj, options)

    def _put(self, resource: Resource, obj: Json, options: WriteOptions) -> StoredObject:
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
        """Serve the resource that a stored CRD defines."""
        self.registry.install(crds.resource(crd))

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
