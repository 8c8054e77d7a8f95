"""The fields of RayCluster and RayJob objects (ray.io/v1) that are read of those that another controller runs.

KubeRay's API server schema has checked them, so nothing is refused here but what has the wrong type. Everything else
in an object is skipped. Source: KubeRay feeaf72, ray-operator/apis/ray/v1 (raycluster_types.go, rayjob_types.go).
"""
# ruff: noqa: N815 - field names are those of the wire

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

GROUP_VERSION: Final = "ray.io/v1"
CLUSTER_LABEL: Final = "ray.io/cluster"
GROUP_LABEL: Final = "ray.io/group"
REPLICA_LABEL: Final = "ray.io/worker-group-replica-index"
HOST_LABEL: Final = "ray.io/replica-host-index"
ORIGIN_KIND: Final = "ray.io/originated-from-crd"
ORIGIN_NAME: Final = "ray.io/originated-from-cr-name"
HEAD_GROUP: Final = "headgroup"

T = TypeVar("T")


class RayGroup(msgspec.Struct, frozen=True):
    """headGroupSpec, or one of workerGroupSpecs."""

    groupName: str = HEAD_GROUP
    replicas: int | None = None
    minReplicas: int | None = None
    maxReplicas: int | None = None
    numOfHosts: int | None = None
    suspend: bool | None = None
    rayStartParams: dict[str, str] | None = None
    template: dict[str, Any] | None = None

    @property
    def wanted_replicas(self) -> int:
        """How many replicas KubeRay makes now (utils.go, GetWorkerGroupDesiredReplicas)."""
        if self.suspend:
            return 0
        least, most = self.minReplicas or 0, self.maxReplicas
        wanted = max(least, self.replicas if self.replicas is not None else least)
        return max(0, wanted if most is None else min(wanted, most))

    @property
    def hosts(self) -> int:
        """Pods of one replica."""
        return max(1, self.numOfHosts or 1)


class AuthOptions(msgspec.Struct, frozen=True):
    """How Ray checks who asks it."""

    mode: str | None = None


class RayClusterSpec(msgspec.Struct, frozen=True):
    """RayClusterSpec v1."""

    headGroupSpec: RayGroup = RayGroup()
    workerGroupSpecs: list[RayGroup] | None = None
    enableInTreeAutoscaling: bool | None = None
    suspend: bool | None = None
    authOptions: AuthOptions | None = None


class RayJobSpec(msgspec.Struct, frozen=True):
    """RayJobSpec v1."""

    rayClusterSpec: RayClusterSpec | None = None
    clusterSelector: dict[str, str] | None = None
    submissionMode: str | None = None
    suspend: bool | None = None
    shutdownAfterJobFinishes: bool | None = None
    ttlSecondsAfterFinished: int | None = None
    deletionStrategy: dict[str, Any] | None = None


class RayJobStatus(msgspec.Struct, frozen=True):
    """RayJobStatus v1."""

    jobStatus: str | None = None
    jobDeploymentStatus: str | None = None
    reason: str | None = None
    message: str | None = None
    jobId: str | None = None
    rayClusterName: str | None = None
    startTime: str | None = None
    endTime: str | None = None


def read(obj: Mapping[str, Any], part: str, kind: type[T]) -> T:
    """The part of an object (``spec``, ``status``). Raises ``msgspec.ValidationError``."""
    return msgspec.convert(obj.get(part) or {}, kind)
