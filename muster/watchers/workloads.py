"""Workloads of Kueue (v1beta2) that Experiments control, as flat records.

Watched by Muster's own label, so Workloads of other controllers cost nothing.
"""

import msgspec

from muster.api.values.timestamps import seconds_of
from muster.api.wire.kinds import MAX_COUNTER
from muster.kube.listwatch.decoder import Projection, version_of
from muster.state.view.workload import Assignment, Workload, WorkloadCondition

API_VERSION = "kueue.x-k8s.io/v1beta2"
PLURAL = "workloads"
PATH = f"/apis/{API_VERSION}/{PLURAL}"


class _Owner(msgspec.Struct, gc=False):
    uid: str | None = None
    controller: bool | None = None


class _Metadata(msgspec.Struct, gc=False):
    uid: str
    name: str
    resourceVersion: str  # noqa: N815 - the wire's names
    namespace: str | None = None
    generation: int | None = None
    creationTimestamp: str | None = None  # noqa: N815
    deletionTimestamp: str | None = None  # noqa: N815
    finalizers: list[str] | None = None
    ownerReferences: list[_Owner] | None = None  # noqa: N815


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
    """The record of a Workload. Raises ValueError for one without uid, name or resourceVersion."""
    metadata, spec, status = document.metadata, document.spec or _Spec(), document.status or _Status()
    if not metadata.uid or not metadata.name:
        raise ValueError("a Workload without uid or name")
    assignments = (status.admission.podSetAssignments or ()) if status.admission else ()
    return Workload(
        uid=metadata.uid,
        name=metadata.name,
        namespace=metadata.namespace or "",
        owner=next((ref.uid or "" for ref in metadata.ownerReferences or () if ref.controller), ""),
        resource_version=version_of(metadata.resourceVersion),
        generation=min(max(metadata.generation or 0, 0), MAX_COUNTER),
        queue=spec.queueName or "",
        active=spec.active is not False,  # absent means true
        deleting=metadata.deletionTimestamp is not None,
        finalizers=tuple(metadata.finalizers or ()),
        conditions=tuple(_condition(each) for each in status.conditions or ()),
        assignments=tuple(
            Assignment(each.name, tuple(dict.fromkeys((each.flavors or {}).values()))) for each in assignments
        ),
        created=seconds_of(metadata.creationTimestamp),
    )


def _condition(read: _Condition) -> WorkloadCondition:
    return WorkloadCondition(
        type=read.type,
        status=read.status,
        reason=read.reason or "",
        message=read.message or "",
        since=read.lastTransitionTime or "",
        generation=read.observedGeneration or 0,
    )


DECODER: Projection[WorkloadDocument, Workload] = Projection("Workload", WorkloadDocument, flatten)
