"""`Resource`, one served resource in one version; the table of the built-in ones, and the registry with CRDs' ones."""

from dataclasses import dataclass, field
from typing import Any

from muster.local.apiserver.errors import unknown_path
from muster.local.apiserver.storage.stored_objects import GroupResource

Json = dict[str, Any]
ALL_VERBS = ("create", "delete", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Resource:
    """One served resource. A CRD's is served in the version that its objects are stored in, and in no other.

    `custom` is the schema of a CRD: objects are pruned by it and get its defaults, nothing else.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    custom: Json | None = field(default=None, compare=False)

    @property
    def group_resource(self) -> GroupResource:
        """Return the key under which its objects are stored."""
        return self.group, self.plural

    @property
    def api_version(self) -> str:
        """Return `group/version`, or the version alone in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """Return `plural.group`, as error messages name a resource."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def has_status(self) -> bool:
        """Return True if status is written through the status subresource only."""
        return "status" in self.subresources


def _builtin(api_version: str, plural: str, kind: str, short: str = "", **more: Any) -> Resource:
    group, _, version = api_version.rpartition("/")
    return Resource(group, version, plural, kind, singular=kind.lower(), short_names=tuple(short.split()), **more)


_REVIEW = ("create",)

BUILT_INS: tuple[Resource, ...] = (
    _builtin("v1", "namespaces", "Namespace", "ns", namespaced=False, subresources=("status",)),
    _builtin(
        "v1",
        "pods",
        "Pod",
        "po",
        categories=("all",),
        subresources=("status", "log", "exec", "portforward", "binding"),
    ),
    _builtin("v1", "services", "Service", "svc", categories=("all",), subresources=("status",)),
    _builtin("v1", "endpoints", "Endpoints", "ep"),
    _builtin("v1", "configmaps", "ConfigMap", "cm"),
    _builtin("v1", "secrets", "Secret"),
    _builtin("v1", "nodes", "Node", "no", namespaced=False, subresources=("status",)),
    _builtin("v1", "events", "Event", "ev"),
    _builtin("v1", "persistentvolumeclaims", "PersistentVolumeClaim", "pvc", subresources=("status",)),
    _builtin("coordination.k8s.io/v1", "leases", "Lease"),
    _builtin("scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", "pc", namespaced=False),
    _builtin("batch/v1", "jobs", "Job", categories=("all",), subresources=("status",)),
    _builtin(
        "apiextensions.k8s.io/v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        "crd crds",
        namespaced=False,
        categories=("api-extensions",),
        subresources=("status",),
    ),
    _builtin(
        "authorization.k8s.io/v1",
        "selfsubjectaccessreviews",
        "SelfSubjectAccessReview",
        namespaced=False,
        verbs=_REVIEW,
    ),
    _builtin("authentication.k8s.io/v1", "tokenreviews", "TokenReview", namespaced=False, verbs=_REVIEW),
    _builtin("v1", "serviceaccounts", "ServiceAccount", "sa", verbs=_REVIEW, subresources=("token",)),
    _builtin("authentication.k8s.io/v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False, verbs=_REVIEW),
)


class Registry:
    """The served resources by (group, plural): each is served in one version."""

    def __init__(self) -> None:
        self._served = {resource.group_resource: resource for resource in BUILT_INS}

    def find(self, group: str, version: str, plural: str) -> Resource:
        """Return the resource with these names; ApiError 404 if there is none."""
        found = self.home((group, plural))
        if found is None or found.version != version:
            raise unknown_path()
        return found

    def home(self, group_resource: GroupResource) -> Resource | None:
        """Return the resource; None after its CRD was deleted."""
        return self._served.get(group_resource)

    def all(self) -> list[Resource]:
        """Return every served resource, built-ins first."""
        return list(self._served.values())

    def install(self, resource: Resource) -> None:
        """Serve the resource of a CRD, in place of the one it had before."""
        self.remove(resource.qualified)
        self._served[resource.group_resource] = resource

    def remove(self, name: str) -> None:
        """Stop serving the CRD of that name."""
        plural, _, group = name.partition(".")
        self._served.pop((group, plural), None)
