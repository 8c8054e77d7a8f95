"""The headless Services of experiments: that they exist, and which Experiment controls them."""

import msgspec

from muster.kube.listwatch.decoder import Projection
from muster.watchers.metadata import OwnedMetadata, identity

PATH = "/api/v1/services"


class ServiceRecord(msgspec.Struct, frozen=True, gc=False):
    """One Service. ``owner`` is the uid of its controller, empty if it has none."""

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
