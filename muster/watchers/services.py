"""The headless Services of experiments: that they exist, and which Experiment controls them."""

import msgspec

from muster.kube.listwatch.decoder import Projection, version_of

PATH = "/api/v1/services"


class ServiceRecord(msgspec.Struct, frozen=True, gc=False):
    """One Service. ``owner`` is the uid of its controller, empty if it has none."""

    uid: str
    name: str
    namespace: str
    owner: str
    resource_version: int


class _Owner(msgspec.Struct, gc=False):
    uid: str | None = None
    controller: bool | None = None


class _Metadata(msgspec.Struct, gc=False):
    uid: str
    name: str
    resourceVersion: str  # noqa: N815 - the wire's names
    namespace: str | None = None
    ownerReferences: list[_Owner] | None = None  # noqa: N815


class ServiceDocument(msgspec.Struct, gc=False):
    """The part of a core/v1 Service that Muster reads."""

    metadata: _Metadata


def flatten(document: ServiceDocument) -> ServiceRecord:
    """The record of a Service. Raises ValueError for one without uid, name or resourceVersion."""
    metadata = document.metadata
    if not metadata.uid or not metadata.name:
        raise ValueError("a Service without uid or name")
    owner = next((ref.uid for ref in metadata.ownerReferences or () if ref.controller), None)
    return ServiceRecord(
        uid=metadata.uid,
        name=metadata.name,
        namespace=metadata.namespace or "",
        owner=owner or "",
        resource_version=version_of(metadata.resourceVersion),
    )


DECODER: Projection[ServiceDocument, ServiceRecord] = Projection("Service", ServiceDocument, flatten)
