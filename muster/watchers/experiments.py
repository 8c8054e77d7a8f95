"""Experiments: the metadata that is used, and spec and status as undecoded JSON.

Only the metadata is decoded here, because the API server guarantees its form. The spec may be wrong; ``muster.api``
parses it later, where an error can be reported on the experiment. Other annotations than Muster's own, managed fields
and whatever else an object may hold up to its 1.5 MB are not kept, nor are spec and status once they have been read
(``stripped``).
"""

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
from muster.watchers.metadata import Metadata, identity

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
    """A deletionTimestamp is set."""
    spec: bytes
    """JSON; empty in a record that is ``stripped``."""
    status: bytes
    """JSON, ``null`` without a status; empty in a record that is ``stripped``."""
    finalizers: tuple[str, ...] = ()
    """Those of the API server that say what becomes of its pods (``CASCADES``)."""
    kind: str = KIND
    """That of an object of another kind, whose plan may depend on its ``labels`` and ``annotations`` too (JSON)."""
    labels: bytes = b""
    annotations: bytes = b""
    ours: bool = True
    """Muster is to run it. An object of another kind that is not ours is kept without its spec and status."""
    managed_by: str = ""
    """Of an Experiment that is not ours: who runs it, and writes its status."""
    watched: bool = False
    """Another controller runs it, and Muster only watches; ``metadata`` is all of its metadata (JSON)."""
    metadata: bytes = b""
    queue: str = ""
    """The queue that its label names."""
    priority_class: str = ""
    """The WorkloadPriorityClass that its label names."""
    restart_request: str = ""
    """Who asked last for a restart, and when."""
    cancelled_by: str = ""
    """Who cancelled it, and when."""
    owners: Owners = ()
    """Whose it is, by the labels that the installation reads."""


class Document(msgspec.Struct, gc=False):
    """An object as it is on the wire."""

    metadata: Metadata
    spec: msgspec.Raw = msgspec.Raw(b"null")
    status: msgspec.Raw = msgspec.Raw(b"null")


class _Requests(msgspec.Struct, gc=False):
    """The annotations that are read."""

    restart: str | None = msgspec.field(default=None, name=ANNOTATION_RESTART)
    cancelled: str | None = msgspec.field(default=None, name=ANNOTATION_CANCELLED)


class _Labelled(Metadata, gc=False):
    labels: dict[str, str] | None = None
    annotations: _Requests | None = None


class _Document(Document, gc=False):
    metadata: _Labelled


def flatten(document: Document) -> ExperimentRecord:
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
    """What of a spec is read here."""

    managedBy: str | None = None  # noqa: N815 - its name on the wire


_MANAGED = msgspec.json.Decoder(_Managed)


def _manager(spec: msgspec.Raw) -> str:
    """Return who is to run it; empty where it is Muster, and where the spec cannot be read, which its plan reports."""
    try:
        named = _MANAGED.decode(spec).managedBy
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return ""
    return "" if named is None or named == MANAGED_BY else word(named)


def _flatten(document: _Document) -> ExperimentRecord:
    """Return the record with its labels, its annotations and ``spec.managedBy``."""
    labels = document.metadata.labels or {}
    queue, priority_class = word(labels.get(QUEUE_LABEL)), word(labels.get(PRIORITY_LABEL))
    record = flatten(document)
    if manager := _manager(document.spec):
        record = msgspec.structs.replace(record, ours=False, managed_by=manager)
    record = msgspec.structs.replace(record, queue=queue, priority_class=priority_class) if queue else record
    asked = document.metadata.annotations
    if asked is None or not (asked.restart or asked.cancelled):
        return record
    return msgspec.structs.replace(record, restart_request=clean(asked.restart), cancelled_by=clean(asked.cancelled))


def stripped(record: ExperimentRecord) -> ExperimentRecord:
    """Return the record without spec, status, labels, annotations and metadata."""
    return msgspec.structs.replace(record, spec=b"", status=b"", labels=b"", annotations=b"", metadata=b"")


def decoder_of(owners: OwnerLabels) -> Projection[_Document, ExperimentRecord]:
    """Return the decoder of Experiments, which reads these labels of their owners."""

    def flatten_owned(document: _Document) -> ExperimentRecord:
        record = _flatten(document)
        found = owners.of(document.metadata.labels)
        return msgspec.structs.replace(record, owners=found) if found else record

    return Projection("Experiment", _Document, flatten_owned)


DECODER = decoder_of(NONE)
