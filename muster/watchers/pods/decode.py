"""Decodes a pod from a watch event or list into the flat record that decisions read."""

import re
from collections.abc import Mapping
from functools import cache
from socket import AF_INET, AF_INET6, inet_pton
from sys import intern
from typing import TYPE_CHECKING, Any

from muster.api.names import GROUP, KIND
from muster.api.values.printable import MESSAGE, clean, small_number, word
from muster.api.values.timestamps import seconds_of
from muster.kube.listwatch.decoder import Projection, version_of
from muster.state.vocabulary.node_faults import DRIVER_FAILED, START_ERROR, driver_fault
from muster.state.vocabulary.pod import SCHEDULING_GATED, Exit, Pod, PodPhase
from muster.watchers.pods.containers import (
    exit_by_phase,
    first_exit,
    holder_of,
    last_exit_of,
    outlived_by,
    restarted_in_place,
    restarts_of,
    survey,
    unhealthy_of,
    waiting_of,
)
from muster.watchers.pods.document import AnyMetadata, AnyPod, Condition, Labels, Owner, PodDocument, Status

if TYPE_CHECKING:
    from muster.kinds.declaration import RunKind

PATH = "/api/v1/pods"
_GROUP = f"{GROUP}/"

# Looking up an enum member takes longer than the comparison, and every event needs four.
_RUNNING, _SUCCEEDED = PodPhase.RUNNING, PodPhase.SUCCEEDED
_FAILED, _UNKNOWN = PodPhase.FAILED, PodPhase.UNKNOWN
_PHASES = {phase.value: phase for phase in PodPhase}
_DISRUPTED = ("DisruptionTarget", "TerminationTarget")
"""Conditions with the reason why a pod is taken away: core/v1's, and Kueue's (kueue: pkg/controller/jobs/pod)."""

NODE_REASONS = frozenset(
    (
        "Evicted",
        "NodeLost",
        "NodeShutdown",
        "Shutdown",
        "Terminated",
        "Preempting",
        "Preempted",
        "UnexpectedAdmissionError",
        "NodeAffinity",
    )
)
"""PodStatus.reason of failures caused by the node and not by the program (kubernetes: pkg/kubelet, packages eviction,
nodeshutdown, preemption and lifecycle). The kubelet's ``OutOf<resource>`` counts as well."""

UNKNOWN_END = "ContainerStatusUnknown"
"""Reason of a container whose end was not seen, with exit code 137: the kubelet found it gone, as after a reboot of
the node (kubernetes: pkg/kubelet, status_manager.go and kubelet_pods.go)."""
UNKNOWN_TO_RUNTIME = ("Unknown", 255)
"""Reason and exit code of a container that ran and whose process containerd does not find when it starts, as after a
loss of power (containerd: internal/cri/server/restart.go). A program that exits with 255 has the reason ``Error``."""

OWN_EXCESS = re.compile(
    r"exceeded its local ephemeral storage limit"
    r"|ephemeral local storage usage exceeds the total limit of containers"
    r"|^Usage of EmptyDir volume .* exceeds the limit"
)
"""The kubelet's messages for a pod that it evicts for the pod's own excess, and not for the node's need (kubernetes:
pkg/kubelet/eviction/eviction_manager.go, localStorageEviction). Such a pod gets no condition DisruptionTarget."""

_EMPTY = Status()
_UNLABELLED = Labels()


def flatten(document: PodDocument) -> Pod:
    """Return the record of a pod that Muster made. Raises ValueError for one without uid, name or resourceVersion."""
    metadata = document.metadata
    labels = metadata.labels or _UNLABELLED
    owner, by_phase = _owner(metadata.ownerReferences)
    return record_of(
        document,
        by_phase=by_phase,
        owner=owner,
        group=word(labels.group),
        job=small_number(labels.job),
        index=small_number(labels.pod),
        rank=small_number(labels.rank),
        epoch=small_number(labels.epoch),
        attempt=small_number(labels.attempt) if labels.attempt else 0,
        parent="" if labels.uid is None or labels.uid == owner else word(labels.uid) or "no uid",
    )


def record_of(document: AnyPod, *, by_phase: bool, **identity: Any) -> Pod:
    """Return the record of a pod whose place is known; ``by_phase``: its phase alone decides how it ended.

    Raises ValueError for one without uid, name or resourceVersion.
    """
    metadata, spec, status = document.metadata, document.spec, document.status or _EMPTY
    if not metadata.uid or not metadata.name:
        raise ValueError("a pod without uid or name")
    phase = _PHASES.get(status.phase or "Pending", _UNKNOWN)
    node = word(spec.nodeName) if spec is not None and spec.nodeName else ""
    ready = contained = scheduled = disrupted = sandbox = None
    for condition in status.conditions or ():
        kind = condition.type
        if kind == "Ready":
            ready = condition
        elif kind == "ContainersReady":
            contained = condition
        elif kind == "PodScheduled":
            scheduled = condition
        elif kind == "PodReadyToStartContainers":
            sandbox = condition
        elif kind in _DISRUPTED:
            disrupted = condition
    containers = survey(status)
    reason, message = _waiting(scheduled, status, phase, containers.waiting)
    if reason == SCHEDULING_GATED and spec is not None:
        message = ", ".join(word(gate.name) for gate in spec.schedulingGates or ())
    disruption = _disruption(disrupted, status, phase)
    if disruption and not message and disrupted is not None:
        message = clean(disrupted.message, MESSAGE)
    leaving = metadata.deletionTimestamp
    by_phase = by_phase or restarted_in_place(spec)
    judged = exit_by_phase if by_phase else first_exit
    exit_ = judged(spec, status, phase) if containers.ended else None
    restarts = restarts_of(status) if by_phase and containers.ended and phase is not _FAILED else 0
    if exit_ is not None and (lost := _unknown(exit_)) and not disruption and not _own_excess(status, phase):
        disruption, message = UNKNOWN_END, message or lost
    elif (
        exit_ is not None and exit_.reason == START_ERROR and not disruption and (fault := driver_fault(exit_.message))
    ):
        disruption, message = DRIVER_FAILED, fault
    # Another container than the member's own may block it: only then the containers are searched.
    may_be_held = containers.waiting and (containers.started or status.initContainerStatuses)
    return Pod(
        uid=metadata.uid,
        name=metadata.name,
        namespace=word(metadata.namespace),
        resource_version=version_of(metadata.resourceVersion),
        phase=phase,
        ready=ready is not None and ready.status == "True",
        terminating=leaving is not None,
        delete_by=seconds_of(leaving) if leaving is not None else 0.0,
        scheduled=bool(node) or (scheduled is not None and scheduled.status == "True"),
        node=node,
        ip=_address(status.podIP),
        started=containers.started,
        waiting_reason=reason,
        waiting_message=intern(message),
        exit=exit_,
        disruption=disruption,
        stopped_at=_stopped_at(metadata, disrupted) if leaving is not None or disruption else 0.0,
        restarts=restarts,
        last_exit=last_exit_of(spec, status) if restarts else None,
        cut_off=phase is _RUNNING and _marked(ready, contained),
        holder=holder_of(spec, status, started=containers.started) if may_be_held else "",
        started_at=seconds_of(containers.since) if containers.since else 0.0,
        outlived_by=outlived_by(status) if containers.ended and exit_ is None and phase is _RUNNING else "",
        unhealthy=unhealthy_of(status),
        sandboxed=containers.started or sandbox is None or sandbox.status != "False",
        **identity,
    )


def _marked(ready: Condition | None, contained: Condition | None) -> bool:
    """Return True if the node lifecycle controller has marked the pod not ready, because its node is NotReady.

    It changes the status of the Ready condition and nothing else (kubernetes: pkg/controller/util/node,
    MarkPodsNotReady); kubelets keep Ready and ContainersReady alike. A readiness gate that is not met has a reason.
    """
    if ready is None or ready.status == "True" or contained is None or contained.status != "True":
        return False
    return ready.reason != "ReadinessGatesNotReady"


DECODER: Projection[PodDocument, Pod] = Projection("Pod", PodDocument, flatten)


def _address(text: str | None) -> str:
    """Return the text if it is an IP address, else "": the prober connects to it."""
    if not text:
        return ""
    try:
        inet_pton(AF_INET6 if ":" in text else AF_INET, text)
    except (OSError, ValueError):
        return ""
    return text


def _owner(references: list[Owner] | None) -> tuple[str, bool]:
    """Return the uid of a controller of a kind whose pods Muster creates, and whether it has Jobs of pods.

    Labels can be copied; a controller reference is checked by the API server. So a pod of a Deployment that has our
    labels does not count as ours.
    """
    for reference in references or ():
        if reference.controller:
            version, kind = reference.apiVersion or "", reference.kind
            if kind == KIND and version.startswith(_GROUP):
                return intern(reference.uid or ""), False
            run = _run_kinds().get(kind or "")
            if run is not None and version.startswith(f"{run.subject.group}/"):
                return intern(reference.uid or ""), run.by_phase
            return "", False
    return "", False


@cache
def _run_kinds() -> "Mapping[str, RunKind]":
    """Return the kinds beside Experiments whose pods Muster creates. A client of Experiments does not import them."""
    from muster.kinds.registry import RUN_KINDS

    return RUN_KINDS


def _waiting(scheduled: Condition | None, status: Status, phase: PodPhase, waits: bool) -> tuple[str, str]:
    """Return why the pod does not run, as (reason, message); for a failed pod the reason in its status."""
    if phase is _SUCCEEDED:
        return "", ""
    if phase is _FAILED:
        return word(status.reason), clean(status.message, MESSAGE)
    if scheduled is not None and scheduled.status == "False":
        return word(scheduled.reason), clean(scheduled.message, MESSAGE)
    return waiting_of(status) if waits else ("", "")


def _disruption(condition: Condition | None, status: Status, phase: PodPhase) -> str:
    if condition is not None and condition.status == "True":
        return word(condition.reason) or "DisruptionTarget"
    reason = status.reason or ""
    if _own_excess(status, phase):
        return ""
    if phase is _FAILED and (reason in NODE_REASONS or reason.startswith("OutOf")):
        return word(reason)
    return ""


def _unknown(end: Exit) -> str:
    """Return the message for an end that nothing on the node has seen; empty for any other end."""
    if end.reason == UNKNOWN_END:
        return end.message or "the kubelet did not find the container"
    if (end.reason, end.code) == UNKNOWN_TO_RUNTIME:
        return "the container runtime does not know how the container ended, as after a loss of power"
    return ""


def _own_excess(status: Status, phase: PodPhase) -> bool:
    """Return True if the kubelet evicted the pod for using more than its own limit of storage: the program's fault."""
    return phase is _FAILED and status.reason == "Evicted" and OWN_EXCESS.search(status.message or "") is not None


def _stopped_at(metadata: AnyMetadata, disrupted: Condition | None) -> float:
    """Return when the pod was first asked to end: by its deletion, or by the cause of the disruption condition.

    A deletionTimestamp is a grace period after the request (apiserver: registry/rest, BeforeDelete).
    """
    times = []
    if metadata.deletionTimestamp is not None:
        deadline, grace = seconds_of(metadata.deletionTimestamp), metadata.deletionGracePeriodSeconds
        if deadline and grace is not None and 0 <= grace <= deadline:
            times.append(deadline - grace)
    if disrupted is not None and disrupted.status == "True" and (at := seconds_of(disrupted.lastTransitionTime)):
        times.append(at)
    return min(times, default=0.0)
