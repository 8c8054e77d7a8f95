"""Objects of other kinds, as the same records that Experiments are.

An object that Muster is not to run (another controller manages it, or it ended before Muster came) is a record without
spec and status: no decision is made about it, and it costs little.
"""

import json
from typing import Any

import msgspec
from msgspec.structs import replace

from muster.api.values.owners import NONE, OwnerLabels
from muster.kinds.declaration import RunKind
from muster.kinds.planning.run_object import TYPE
from muster.kube.listwatch.decoder import Projection
from muster.watchers import experiments
from muster.watchers.experiments import Document, ExperimentRecord
from muster.watchers.metadata import ObjectMetadata

_RECORD = json.dumps(TYPE).encode()


class _Metadata(ObjectMetadata, gc=False):
    labels: msgspec.Raw = msgspec.Raw(b"null")
    annotations: msgspec.Raw = msgspec.Raw(b"null")


def decoder_of(kind: RunKind, owners: OwnerLabels = NONE) -> Projection[Document[_Metadata], ExperimentRecord]:
    """Return the decoder of one other kind."""

    def flatten(document: Document[_Metadata]) -> ExperimentRecord:
        metadata = document.metadata
        record = replace(
            experiments.flatten(document),
            kind=kind.subject.kind,
            labels=bytes(metadata.labels),
            annotations=bytes(metadata.annotations),
            owners=owners.of(json.loads(bytes(metadata.labels))) if owners.labels else (),
        )
        return record if _ours(kind, record) else replace(experiments.stripped(record), ours=False)

    return Projection(kind.subject.kind, Document[_Metadata], flatten)


def object_of(record: ExperimentRecord, kind: RunKind) -> dict[str, Any]:
    """Return the object as its kind reads it. Raises ValueError or RecursionError if its JSON cannot be read."""
    metadata: dict[str, Any] = {
        "uid": record.uid,
        "name": record.name,
        "namespace": record.namespace,
        "generation": record.generation,
        "labels": json.loads(record.labels or b"null") or {},
        "annotations": json.loads(record.annotations or b"null") or {},
        "finalizers": list(record.finalizers),
    }
    if record.deleting:
        metadata["deletionTimestamp"] = "set"  # a plan only needs to know that it is set
    subject = kind.subject
    spec = json.loads(record.spec)
    return {"apiVersion": subject.api_version, "kind": subject.kind, "metadata": metadata, "spec": spec}


def _ours(kind: RunKind, record: ExperimentRecord) -> bool:
    try:
        begun = _RECORD in record.status
        return kind.ours(object_of(record, kind)) and (begun or not kind.over(json.loads(record.status)))
    except (ValueError, RecursionError, TypeError, AttributeError):
        return False  # only a readable object can be ours
