"""A member as its pod shows it: state, and why it is not running."""

from dataclasses import dataclass

from muster.api.last_words import NONE, sentence
from muster.api.names import (
    CONTAINER,
    LABEL_ATTEMPT,
    LABEL_EPOCH,
    LABEL_GROUP,
    LABEL_JOB,
    LABEL_POD,
    LABEL_RANK,
    selector_of,
)
from muster.api.values.secrets import secrets_of
from muster.api.values.termination_message import are_a_reason, words
from muster.api.values.timestamps import seconds_of
from muster.kube.listwatch.informer import Kind
from muster.kube.resources import ResourceClient, core
from muster.kube.unstructured import Json, items, mapping, text, whole

PROCESS = "process://"
"""Scheme of a containerID on the local cluster, followed by the process id; containerd and others have their own."""


@dataclass(frozen=True, slots=True)
class Member:
    """One pod's place in the gang, and its state."""

    rank: int
    group: str
    job: int
    index: int
    epoch: int
    pod: str
    uid: str
    phase: str
    ready: bool
    terminating: bool
    node: str
    ip: str
    started: bool
    """The main container runs or ran."""
    running: bool
    container: str
    state: str
    """One word, as in ``kubectl get pods``: Running, ImagePullBackOff, Error, Terminating ..."""
    why: str
    """Message of the scheduler or the kubelet, or the container's last words; may be empty."""
    exit_code: int | None
    process: int | None
    """The process id, on a local cluster."""
    attempt: int = 0
    """Number of times that the rank was run again in that epoch."""
    ended_at: float | None = None
    """End of the container, in whole wall seconds by the node's clock."""


@dataclass(frozen=True, slots=True)
class MemberChange:
    """A step of a watched gang: ADDED (or existing from the start), MODIFIED, DELETED."""

    kind: Kind
    member: Member


def members_of(uid: str) -> dict[str, str]:
    """Return the query parameters that select the pods of the Experiment of that uid, as the daemon selects them."""
    return {"labelSelector": selector_of(uid)}


async def read_pods(resources: ResourceClient, namespace: str, uid: str) -> list[Json]:
    """Return the pods of an experiment, of every epoch."""
    return list(await resources.list(core(namespace, "pods"), members_of(uid)))


async def read_members(resources: ResourceClient, namespace: str, uid: str) -> list[Member]:
    """Return the members of an experiment that have a pod, of every epoch."""
    return [member_of(pod) for pod in await read_pods(resources, namespace, uid)]


def member_of(pod: Json) -> Member:
    """Return the member of a pod."""
    meta, spec, status = (mapping(pod.get(key)) for key in ("metadata", "spec", "status"))
    labels = mapping(meta.get("labels"))
    containers = items(status.get("containerStatuses"))
    main = next((c for c in containers if c.get("name") == CONTAINER), containers[0] if containers else {})
    state = mapping(main.get("state"))
    ended = mapping(state.get("terminated"))
    terminating = "deletionTimestamp" in meta
    word, why = _state_of(spec, status, state, terminating)
    identity = text(main, "containerID")
    return Member(
        rank=whole(labels, LABEL_RANK, -1),
        group=text(labels, LABEL_GROUP),
        job=whole(labels, LABEL_JOB),
        index=whole(labels, LABEL_POD),
        epoch=whole(labels, LABEL_EPOCH),
        pod=text(meta, "name"),
        uid=text(meta, "uid"),
        phase=text(status, "phase") or "Pending",
        ready=any(c.get("type") == "Ready" and c.get("status") == "True" for c in items(status.get("conditions"))),
        terminating=terminating,
        node=text(spec, "nodeName"),
        ip=text(status, "podIP"),
        started="running" in state or bool(ended),
        running="running" in state,
        container=text(main, "name"),
        state=word,
        why=why,
        exit_code=whole(ended, "exitCode") if ended else None,
        attempt=whole(labels, LABEL_ATTEMPT),
        ended_at=seconds_of(text(ended, "finishedAt")) or None,
        process=whole({"pid": identity.removeprefix(PROCESS)}, "pid") or None if identity.startswith(PROCESS) else None,
    )


def _state_of(spec: Json, status: Json, state: Json, terminating: bool) -> tuple[str, str]:
    phase = text(status, "phase") or "Pending"
    waiting, ended = mapping(state.get("waiting")), mapping(state.get("terminated"))
    if terminating and phase not in ("Succeeded", "Failed"):
        return "Terminating", ""
    if ended and phase != "Succeeded":
        reason = text(ended, "reason")
        return reason or "Error", _how(whole(ended, "exitCode"), text(ended, "message"), reason, spec)
    if waiting and text(waiting, "reason"):
        return text(waiting, "reason"), text(waiting, "message")
    for condition in items(status.get("conditions")):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return text(condition, "reason") or phase, text(condition, "message")
    return text(status, "reason") or phase, text(status, "message")


def _how(code: int, message: str, reason: str, spec: Json) -> str:
    """Return ``exit code 1: ValueError: loss is NaN``, or the last line of the log if none in it has a reason."""
    last = words(message, reason, secrets_of(spec))
    if are_a_reason(last.explains, code):
        return f"exit code {code}: {last.text}"
    if last.child != NONE:
        return f"exit code {code}: {sentence(last.child)}"
    return f'exit code {code}; last line "{last.last_line}"' if last.last_line else f"exit code {code}"
