"""Experiments: the metadata that is used, and spec and status as undecoded JSON.

Only the metadata is decoded here, because the API server guarantees its form. The spec may be wrong; ``muster.api``
parses it later, where an error can be reported on the experiment. Annotations of others, managed fields and everything
else in an object of up to 1.5 MB are dropped; spec and status are dropped once they have been read (``stripped``).
"""

from typing import Generic, TypeVar

import msgspec

from muster.api.names import (
    ANNOTATION_CANCELLED,
    ANNOTATION_RESTART,
    API_VERSION,
    KIND,
    MANAGED_BY,
    PLURAL,
    PRIORITY_LABEL,
    QUEUE_LABEL,
)
from muster.api.values.owners import NONE, OwnerLabels, Owners
from muster.api.values.printable import clean, word
from muster.api.wire.kinds import MAX_COUNTER
from muster.kube.listwatch.decoder import Projection
from muster.watchers.metadata import ObjectMetadata, identity

M_co = TypeVar("M_co", covariant=True, bound=ObjectMetadata | msgspec.Raw)

PATH = f"/apis/{API_VERSION}/{PLURAL}"


CASCADES = ("orphan", "foregroundDeletion")
"""metav1: FinalizerOrphanDependents, FinalizerDeleteDependents."""


class ExperimentRecord(msgspec.Struct, frozen=True, gc=False):
    """One Experiment, or one object of another kind that Muster can run."""

    uid: str
    namespace: str
    name: str
    resource_version: int
    generation: int
    deleting: bool
    """True if a deletionTimestamp is set."""
    spec: bytes
    """JSON; empty in a record that is ``stripped``."""
    status: bytes
    """JSON, ``null`` without a status; empty in a record that is ``stripped``."""
    finalizers: tuple[str, ...] = ()
    """The finalizers of the API server that decide what happens to its pods (``CASCADES``)."""
    kind: str = KIND
    """The kind; the plan of an object of another kind may depend on its ``labels`` and ``annotations`` too (JSON)."""
    labels: bytes = b""
    annotations: bytes = b""
    ours: bool = True
    """True if Muster is to run it. An object of another kind that is not ours is kept without its spec and status."""
    managed_by: str = ""
    """The manager that runs an Experiment that is not ours, and writes its status."""
    metadata: bytes = b""
    """All of its metadata (JSON), if Muster only watches it."""
    queue: str = ""
    """The queue that its label names."""
    priority_class: str = ""
    """The WorkloadPriorityClass that its label names."""
    restart_request: str = ""
    """The person who asked last for a restart, and the time."""
    cancelled_by: str = ""
    """The person who cancelled it, and the time."""
    owners: Owners = ()
    """The owners, by the labels that the installation reads."""


class Document(msgspec.Struct, Generic[M_co], gc=False):
    """An object as it is on the wire."""

    metadata: M_co
    spec: msgspec.Raw = msgspec.Raw(b"null")
    status: msgspec.Raw = msgspec.Raw(b"null")


class _Requests(msgspec.Struct, gc=False):
    restart: str | None = msgspec.field(default=None, name=ANNOTATION_RESTART)
    cancelled: str | None = msgspec.field(default=None, name=ANNOTATION_CANCELLED)


class _Labelled(ObjectMetadata, gc=False):
    labels: dict[str, str] | None = None
    annotations: _Requests | None = None


def flatten(document: Document[ObjectMetadata]) -> ExperimentRecord:
    """Return the record of an Experiment. Raises ValueError if its metadata cannot be read."""
    metadata = document.metadata
    return ExperimentRecord(
        **identity(metadata, "an Experiment"),
        generation=min(max(metadata.generation or 0, 0), MAX_COUNTER),
        deleting=metadata.deletionTimestamp is not None,
        spec=bytes(document.spec),
        status=bytes(document.status),
        finalizers=tuple(each for each in CASCADES if each in (metadata.finalizers or ())),
    )


class _Managed(msgspec.Struct, gc=False):
    managedBy: str | None = None  # noqa: N815 - its name on the wire


_MANAGED = msgspec.json.Decoder(_Managed)


def _manager(spec: msgspec.Raw) -> str:
    """Return the manager; empty for Muster, and for a spec that cannot be read, which its plan reports."""
    try:
        named = _MANAGED.decode(spec).managedBy
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return ""
    return "" if named is None or named == MANAGED_BY else word(named)


def stripped(record: ExperimentRecord) -> ExperimentRecord:
    """Return the record without spec, status, labels, annotations and metadata."""
    return msgspec.structs.replace(record, spec=b"", status=b"", labels=b"", annotations=b"", metadata=b"")


def decoder_of(owners: OwnerLabels) -> Projection[Document[_Labelled], ExperimentRecord]:
    """Return the decoder of Experiments, which reads these labels of their owners."""

    def flatten_labelled(document: Document[_Labelled]) -> ExperimentRecord:
        metadata, manager = document.metadata, _manager(document.spec)
        labels, asked = metadata.labels or {}, metadata.annotations or _Requests()
        queue = word(labels.get(QUEUE_LABEL))
        return msgspec.structs.replace(
            flatten(document),
            ours=not manager,
            managed_by=manager,
            queue=queue,
            priority_class=word(labels.get(PRIORITY_LABEL)) if queue else "",
            restart_request=clean(asked.restart),
            cancelled_by=clean(asked.cancelled),
            owners=owners.of(labels),
        )

    return Projection("Experiment", Document[_Labelled], flatten_labelled)


DECODER = decoder_of(NONE)
