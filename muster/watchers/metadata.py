"""metav1, as watchers read it: identity, deletion and controller of an object. Of a Service no more is read."""

from typing import TypedDict

import msgspec

from muster.kube.listwatch.decoder import Projection, version_of


class ObjectOwner(msgspec.Struct, gc=False):
    """metav1.OwnerReference."""

    uid: str | None = None
    controller: bool | None = None


class ObjectMetadata(msgspec.Struct, gc=False):
    """metav1.ObjectMeta."""

    uid: str
    name: str
    resourceVersion: str  # noqa: N815 - the wire's names
    namespace: str | None = None
    generation: int | None = None
    deletionTimestamp: str | None = None  # noqa: N815
    finalizers: list[str] | None = None


class OwnedMetadata(ObjectMetadata, gc=False):
    """metav1.ObjectMeta with the owners."""

    ownerReferences: list[ObjectOwner] | None = None  # noqa: N815

    @property
    def owner(self) -> str:
        """The uid of the controller; empty if there is none."""
        return next((each.uid or "" for each in self.ownerReferences or () if each.controller), "")


class Identity(TypedDict):
    """The fields that every record of an object has."""

    uid: str
    name: str
    namespace: str
    resource_version: int


def identity(metadata: ObjectMetadata, what: str) -> Identity:
    """Return the identity. Raises ValueError for ``what`` (``a Service``) without uid, name or resourceVersion."""
    if not metadata.uid or not metadata.name:
        raise ValueError(f"{what} without uid or name")
    return Identity(
        uid=metadata.uid,
        name=metadata.name,
        namespace=metadata.namespace or "",
        resource_version=version_of(metadata.resourceVersion),
    )


PATH = "/api/v1/services"


class ServiceRecord(msgspec.Struct, frozen=True, gc=False):
    """The headless Service of an experiment. ``owner`` is the uid of its controller, empty if it has none."""

    uid: str
    name: str
    namespace: str
    owner: str
    resource_version: int


class ServiceDocument(msgspec.Struct, gc=False):
    """The part of a core/v1 Service that Muster reads."""

    metadata: OwnedMetadata


def flatten(document: ServiceDocument) -> ServiceRecord:
    """Return the record of a Service. Raises ValueError for one without uid, name or resourceVersion."""
    metadata = document.metadata
    return ServiceRecord(owner=metadata.owner, **identity(metadata, "a Service"))


DECODER: Projection[ServiceDocument, ServiceRecord] = Projection("Service", ServiceDocument, flatten)
