"""The part of a core/v1 Pod that Muster reads: 30 of several hundred fields.

Every field is optional, and the garbage collector ignores every Struct (``gc=False``). Labels are a Struct too: the
decoder then skips other labels without allocating them.
"""
# ruff: noqa: N815 - field names are those of the wire

import msgspec

from muster.api.names import LABEL_ATTEMPT, LABEL_EPOCH, LABEL_GROUP, LABEL_JOB, LABEL_POD, LABEL_RANK, LABEL_UID
from muster.watchers import metadata


class Labels(msgspec.Struct, gc=False):
    """The labels that Muster sets on a member's pod."""

    uid: str | None = msgspec.field(name=LABEL_UID, default=None)
    group: str | None = msgspec.field(name=LABEL_GROUP, default=None)
    job: str | None = msgspec.field(name=LABEL_JOB, default=None)
    pod: str | None = msgspec.field(name=LABEL_POD, default=None)
    rank: str | None = msgspec.field(name=LABEL_RANK, default=None)
    epoch: str | None = msgspec.field(name=LABEL_EPOCH, default=None)
    attempt: str | None = msgspec.field(name=LABEL_ATTEMPT, default=None)


class Owner(metadata.ObjectOwner, gc=False):
    """metav1.OwnerReference with the owner's kind."""

    apiVersion: str | None = None
    kind: str | None = None


class AnyMetadata(msgspec.Struct, gc=False):
    """metav1.ObjectMeta without the labels."""

    uid: str | None = None
    name: str | None = None
    namespace: str | None = None
    resourceVersion: str | None = None
    ownerReferences: list[Owner] | None = None
    deletionTimestamp: str | None = None
    deletionGracePeriodSeconds: int | None = None


class Metadata(AnyMetadata, gc=False):
    """metav1.ObjectMeta with the labels that Muster sets."""

    labels: Labels | None = None


_NOTHING = msgspec.Raw(b"null")


class InitContainer(msgspec.Struct, gc=False):
    """An init container's restart policy: ``Always`` makes it a sidecar (KEP-753)."""

    name: str | None = None
    restartPolicy: str | None = None
    env: msgspec.Raw = _NOTHING
    envFrom: msgspec.Raw = _NOTHING


class SchedulingGate(msgspec.Struct, gc=False):
    """core/v1 PodSchedulingGate."""

    name: str | None = None


class Spec(msgspec.Struct, gc=False):
    """core/v1 PodSpec."""

    nodeName: str | None = None
    restartPolicy: str | None = None
    initContainers: list[InitContainer] | None = None
    schedulingGates: list[SchedulingGate] | None = None
    containers: msgspec.Raw = _NOTHING
    """Undecoded: it is read only if a container has a message at its end."""


class Waiting(msgspec.Struct, gc=False):
    """core/v1 ContainerStateWaiting."""

    reason: str | None = None
    message: str | None = None


class Running(msgspec.Struct, gc=False):
    """core/v1 ContainerStateRunning."""

    startedAt: str | None = None


class Terminated(msgspec.Struct, gc=False):
    """core/v1 ContainerStateTerminated."""

    exitCode: int | None = None
    signal: int | None = None
    reason: str | None = None
    message: str | None = None
    startedAt: str | None = None
    finishedAt: str | None = None


class State(msgspec.Struct, gc=False):
    """core/v1 ContainerState."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ResourceHealth(msgspec.Struct, gc=False):
    """core/v1 ResourceHealth: one device, by the plugin that manages it (KEP-4680)."""

    resourceID: str | None = None
    health: str | None = None


class ResourceStatus(msgspec.Struct, gc=False):
    """core/v1 ResourceStatus: ``nvidia.com/gpu``, or ``claim:CLAIM/REQUEST`` of dynamic resource allocation."""

    name: str | None = None
    resources: list[ResourceHealth] | None = None


class ContainerStatus(msgspec.Struct, gc=False):
    """core/v1 ContainerStatus."""

    name: str | None = None
    image: str | None = None
    state: State | None = None
    lastState: State | None = None
    restartCount: int | None = None
    allocatedResourcesStatus: list[ResourceStatus] | None = None


class Condition(msgspec.Struct, gc=False):
    """core/v1 PodCondition."""

    type: str | None = None
    status: str | None = None
    reason: str | None = None
    message: str | None = None
    lastTransitionTime: str | None = None


class Status(msgspec.Struct, gc=False):
    """core/v1 PodStatus."""

    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    podIP: str | None = None
    conditions: list[Condition] | None = None
    containerStatuses: list[ContainerStatus] | None = None
    initContainerStatuses: list[ContainerStatus] | None = None


class AnyPod(msgspec.Struct, gc=False):
    """core/v1 Pod, whichever labels are read from it."""

    metadata: AnyMetadata
    spec: Spec | None = None
    status: Status | None = None


class PodDocument(AnyPod, gc=False):
    """core/v1 Pod that Muster made."""

    metadata: Metadata
