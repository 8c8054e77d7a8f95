"""RayJobs, as Muster watches over them: their plan, and the state that KubeRay's controller reports.

- The members are those of the RayCluster that the present attempt has (``status.rayClusterName``, another one after
  each retry and each resumption) and, in K8sJobMode, the submitter's pod. In HTTPMode KubeRay itself hands the program
  over, in SidecarMode a container of the head does. A RayJob with a ``clusterSelector`` borrows a cluster, which is a
  run of its own: only the submitter is its member.
- The submitter ends well even if the program has failed: success is what Ray and the RayJob report, and no pod's exit.
- ``jobStatus`` is the last one that KubeRay read. After a deadline it stays RUNNING.
- An attempt's failure is in the status for 0.1 s and is gone when the next attempt begins.

RayClusters are declared here too (``raycluster``). Traps: tests/watched_runs/kuberay.
"""
# ruff: noqa: N815 - field names are those of the wire

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from muster.api.values.printable import clean, printable, word
from muster.api.values.timestamps import seconds_of, whole_time
from muster.kinds.declaration import SUBMITTED, Claim, Place, PlanError, PodFacts, PodSource, WatchedKind, part_of
from muster.kinds.planning.watched_plan import MAX_MESSAGE, read, watched_plan
from muster.kinds.ray.raycluster import (
    CLUSTER_LABEL,
    FRAMEWORK,
    GROUP_VERSION,
    PODS,
    RAYCLUSTER,
    RAYCLUSTERS,
    RayClusterSpec,
    autoscaled,
    coordinator_of,
    groups_of,
)
from muster.state.view.own import OwnState, OwnVerdict
from muster.state.vocabulary.group import Group, Role
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import PodSpec
from muster.state.vocabulary.rules import Gate, GateCondition
from muster.state.vocabulary.subject import Subject, title

ORIGIN_KIND: Final = "ray.io/originated-from-crd"
RAYJOB: Final = Subject(GROUP_VERSION, "RayJob", "rayjobs")
SUBMITTER: Final = "submitter"
HAND_OVER: Final = "K8sJobMode"
FAILED: Final = frozenset({"Failed", "ValidationFailed"})
LOGS_FOLLOW: Final = ", last available logs"


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


def place_of(pod: PodFacts) -> Place | None:
    """Return the place of a submitter's pod. It bears the RayJob's name, and not that of its cluster."""
    name = pod.labels.get("ray.io/originated-from-cr-name")
    if not name or pod.labels.get(ORIGIN_KIND) != RAYJOB.kind or CLUSTER_LABEL in pod.labels:
        return None
    return Place(title(RAYJOB.kind, word(name)), SUBMITTER, 0, 0)


def plan_of(obj: Mapping[str, Any]) -> Plan:
    """Return the plan of a RayJob. Raises ``PlanError``."""
    spec, status = read(obj, RayJobSpec), _status(obj)
    cluster = spec.rayClusterSpec
    groups = list(groups_of(cluster)) if cluster else []
    if (spec.submissionMode or HAND_OVER) == HAND_OVER:
        groups.append(Group(SUBMITTER, 1, 1, PodSpec(), 0, role=Role.SUBMITTER, gates=_gates(groups)))
    return watched_plan(
        obj,
        RAYJOB,
        groups,
        framework=FRAMEWORK if cluster else replace(FRAMEWORK, port=0),
        coordinator=coordinator_of(cluster) if cluster else None,
        suspend=bool(spec.suspend),
        notice=autoscaled(cluster) if cluster else "",
        submits_as=word(status.jobId or ""),
    )


def claims(obj: Mapping[str, Any]) -> tuple[Claim, ...]:
    """Return the pods of the present attempt's cluster, and the submitter."""
    name = word(str(part_of(obj, "metadata").get("name") or ""))
    own, cluster = Claim(title(RAYJOB.kind, name)), _status(obj).rayClusterName
    borrowed = part_of(obj, "spec").get("clusterSelector")
    return (own,) if borrowed or not cluster else (Claim(title(RAYCLUSTER.kind, word(cluster))), own)


def own_state(obj: Mapping[str, Any]) -> OwnState:
    """Return the state that the status of a RayJob shows."""
    status = _status(obj)
    state, message = status.jobDeploymentStatus or "", _message(status)
    finished_at = seconds_of(status.endTime or "") or None
    stated = OwnState(
        word=word(state),
        attempt=word(status.rayClusterName or status.jobId or ""),
        started_at=seconds_of(status.startTime or "") or None,
        finished_at=finished_at,
        clearing=_clearing(obj, word(status.rayClusterName or ""), finished_at),
    )
    if state == "Complete":
        done = status.jobStatus == "SUCCEEDED"
        verdict = OwnVerdict.SUCCEEDED if done else OwnVerdict.FAILED
        reason = "JobSucceeded" if done else f"Job{_camel(status.jobStatus)}"
        return msgspec.structs.replace(stated, verdict=verdict, reason=reason, message=message)
    if state in FAILED:
        reason = word(status.reason or state)
        return msgspec.structs.replace(stated, verdict=OwnVerdict.FAILED, reason=reason, message=message)
    if state == "Retrying":
        return msgspec.structs.replace(stated, reason=word(status.reason or "AppFailed"), message=message)
    if state in ("Suspending", "Suspended") or part_of(obj, "spec").get("suspend") is True:
        why = "suspended by spec.suspend of the RayJob"
        return msgspec.structs.replace(stated, verdict=OwnVerdict.SUSPENDED, reason=state or "Suspended", message=why)
    if status.jobStatus in ("FAILED", "STOPPED"):
        return msgspec.structs.replace(stated, reason=f"Job{_camel(status.jobStatus)}", message=message)
    return stated


def _gates(groups: list[Group]) -> tuple[Gate, ...]:
    """Return the gate of the submitter: KubeRay makes it when all pods of the cluster are ready."""
    return (Gate(GateCondition.ARRIVED), *(Gate(GateCondition.READY, group.name) for group in groups))


def _message(status: RayJobStatus) -> str:
    """Return the first line of the message, before any log. After a deadline it has the job's state."""
    first = (status.message or "").partition("\n")[0].partition(LOGS_FOLLOW)[0]
    text = clean(printable(first, MAX_MESSAGE), MAX_MESSAGE)
    if status.jobDeploymentStatus == "Failed" and status.jobStatus in ("PENDING", "RUNNING"):
        stale = f"the program was {status.jobStatus} then and is not stopped before its RayCluster is deleted"
        return f"{text}; {stale}" if text else stale
    return text


def _clearing(obj: Mapping[str, Any], cluster: str, finished_at: float | None) -> str:
    """Return what becomes of its cluster after the end (rayjob_controller.go). A borrowed cluster stays."""
    try:
        spec = read(obj, RayJobSpec)
    except PlanError:
        return ""
    if not cluster or spec.clusterSelector:
        return ""
    if any((spec.deletionStrategy or {}).values()):
        return "spec.deletionStrategy decides when they are deleted"
    if not spec.shutdownAfterJobFinishes:
        return f"they run until RayCluster {cluster} is deleted (shutdownAfterJobFinishes is false)"
    ttl = max(0, spec.ttlSecondsAfterFinished or 0)
    when = f"at {whole_time(finished_at + ttl)}" if finished_at else f"{ttl} s after the end"
    return f"RayCluster {cluster} is due to be deleted {when} (ttlSecondsAfterFinished: {ttl})"


def _camel(word_of_ray: str | None) -> str:
    return (word_of_ray or "unknown").capitalize()


def _status(obj: Mapping[str, Any]) -> RayJobStatus:
    """Return the status; an empty one where it cannot be read."""
    try:
        return msgspec.convert(obj.get("status") or {}, RayJobStatus)
    except msgspec.ValidationError:
        return RayJobStatus()


RAYJOBS: Final = WatchedKind(
    RAYJOB,
    (PODS, PodSource("rayjobs", ORIGIN_KIND, place_of)),
    plan_of,
    own_state,
    claimed=claims,
    level=0,
    about="all RayJobs",
    members="by group and replica index",
    epochs="its attempts",
    makes=("job/{name}",),
    suspend={"spec": {"suspend": True}},
    handed=SUBMITTED,
)


DECLARED: Final = (RAYJOBS, RAYCLUSTERS)
