"""The resources that are served: the built-ins, and those of the installed CRDs."""

from __future__ import annotations

from collections.abc import Iterable

from muster.local.apiserver.errors import unknown_path
from muster.local.apiserver.kinds.resources import BUILT_INS, Resource
from muster.local.apiserver.storage.stored_objects import GroupResource


class Registry:
    """Finds resources by (group, version, plural) and by (group, plural)."""

    def __init__(self) -> None:
        self._served: dict[tuple[str, str, str], Resource] = {}
        self._homes: dict[GroupResource, Resource] = {}
        self._custom: dict[str, tuple[Resource, ...]] = {}
        self.generation = 0
        """Increases with each change; clients keep documents that were made from the registry by it."""
        for resource in BUILT_INS:
            self._add(resource)

    def find(self, group: str, version: str, plural: str) -> Resource:
        """The resource with these names; ApiError 404 if there is none."""
        found = self._served.get((group, version, plural))
        if found is None:
            raise unknown_path()
        return found

    def home(self, group_resource: GroupResource) -> Resource | None:
        """The resource in its storage version; None after its CRD was deleted."""
        return self._homes.get(group_resource)

    def all(self) -> list[Resource]:
        """Every served resource, built-ins first."""
        return list(self._served.values())

    def install(self, crd_name: str, resources: Iterable[Resource]) -> None:
        """Serve the versions of a CRD, in place of those it had before."""
        self.remove(crd_name)
        kept = tuple(resources)
        self._custom[crd_name] = kept
        for resource in kept:
            self._add(resource)
        self.generation += 1

    def remove(self, crd_name: str) -> None:
        """Stop serving a CRD."""
        for resource in self._custom.pop(crd_name, ()):
            del self._served[resource.group, resource.version, resource.plural]
            self._homes.pop(resource.group_resource, None)
        self.generation += 1

    def _add(self, resource: Resource) -> None:
        self._served[resource.group, resource.version, resource.plural] = resource
        if resource.api_version == resource.storage_version or resource.group_resource not in self._homes:
            self._homes[resource.group_resource] = resource
