"""Workloads of Kueue (v1beta2), as flat records: those that Muster makes, and those that Kueue makes for its own kinds.

For the latter the owner's queue and Kueue's conditions are kept: they show why a JobSet or a RayJob is suspended.
"""

import msgspec

from muster.api.names import LABEL_UID
from muster.api.values.printable import MESSAGE, clean
from muster.api.values.timestamps import seconds_of
from muster.api.wire.kinds import MAX_COUNTER
from muster.kube.listwatch.decoder import Projection
from muster.state.vocabulary.workload import Assignment, Workload, WorkloadCondition
from muster.watchers.metadata import OwnedMetadata, identity

API_VERSION = "kueue.x-k8s.io/v1beta2"
PLURAL = "workloads"
PATH = f"/apis/{API_VERSION}/{PLURAL}"
JOB_UID = "kueue.x-k8s.io/job-uid"
"""Label of a Workload that Kueue made: the uid of its owner (kueue: pkg/controller/constants)."""
MOST = 32
"""Most conditions that are kept of a Workload that Kueue made; it writes fewer than 12."""


class _ManagedFields(msgspec.Struct, gc=False):
    manager: str | None = None
    subresource: str | None = None
    time: str | None = None


class _Metadata(OwnedMetadata, gc=False):
    creationTimestamp: str | None = None  # noqa: N815 - the wire's names
    labels: dict[str, str] | None = None
    managedFields: list[_ManagedFields] | None = None  # noqa: N815


class _Spec(msgspec.Struct, gc=False):
    queueName: str | None = None  # noqa: N815
    active: bool | None = None


class _Condition(msgspec.Struct, gc=False):
    type: str
    status: str
    reason: str | None = None
    message: str | None = None
    lastTransitionTime: str | None = None  # noqa: N815
    observedGeneration: int | None = None  # noqa: N815


class _Assignment(msgspec.Struct, gc=False):
    name: str
    flavors: dict[str, str] | None = None


class _Admission(msgspec.Struct, gc=False):
    podSetAssignments: list[_Assignment] | None = None  # noqa: N815


class _Status(msgspec.Struct, gc=False):
    conditions: list[_Condition] | None = None
    admission: _Admission | None = None


class WorkloadDocument(msgspec.Struct, gc=False):
    """The part of a Workload that Muster reads."""

    metadata: _Metadata
    spec: _Spec | None = None
    status: _Status | None = None


def flatten(document: WorkloadDocument) -> Workload:
    """Return the record of a Workload. Raises ValueError for one without uid, name or resourceVersion."""
    metadata, spec, status = document.metadata, document.spec or _Spec(), document.status or _Status()
    ours = LABEL_UID in (metadata.labels or {})
    assignments = (status.admission.podSetAssignments or ()) if status.admission and ours else ()
    return Workload(
        **identity(metadata, "a Workload"),
        owner=metadata.owner,
        generation=min(max(metadata.generation or 0, 0), MAX_COUNTER),
        queue=spec.queueName or "",
        active=spec.active is not False,  # absent means true
        deleting=metadata.deletionTimestamp is not None,
        finalizers=tuple(metadata.finalizers or ()) if ours else (),
        conditions=tuple(_condition(each, whole=ours) for each in (status.conditions or ())[: None if ours else MOST]),
        assignments=tuple(
            Assignment(each.name, tuple(dict.fromkeys((each.flavors or {}).values()))) for each in assignments
        ),
        created=seconds_of(metadata.creationTimestamp),
        kueue_wrote=max(
            (seconds_of(each.time) for each in metadata.managedFields or () if _by_kueue(each)), default=0.0
        ),
        ours=ours,
    )


def _by_kueue(fields: _ManagedFields) -> bool:
    """Return True for fields of Kueue: its managers' names begin with ``kueue`` (kueue: pkg/constants)."""
    return fields.subresource == "status" and (fields.manager or "").startswith("kueue")


def _condition(read: _Condition, *, whole: bool) -> WorkloadCondition:
    """Return one condition; ``whole``: unchanged, because a patch sends it back."""
    return WorkloadCondition(
        type=read.type,
        status=read.status,
        reason=read.reason or "",
        message=(read.message or "") if whole else clean(read.message, MESSAGE),
        since=read.lastTransitionTime or "",
        generation=read.observedGeneration or 0,
    )


DECODER: Projection[WorkloadDocument, Workload] = Projection("Workload", WorkloadDocument, flatten)
