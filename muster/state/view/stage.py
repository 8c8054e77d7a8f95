"""The stage of a member: how far its pod has come, or what keeps it, as the pod alone shows it.

The tally counts the stages of the members that the coordinator does not know (``view.tally``), so that it is known at
no cost what keeps the missing ranks (``state.diagnosis.by_cause``).
"""

from enum import IntEnum

from muster.state.vocabulary.pod import PATIENT, SCHEDULING_GATED, Pod, PodPhase


class Stage(IntEnum):
    """The stages; the value is the place of its count."""

    QUEUED = 0
    """Scheduling gates are on the pod."""
    UNSCHEDULABLE = 1
    """No node, and the scheduler says why."""
    SCHEDULING = 2
    """No node yet."""
    IMAGE_PULL = 3
    """The image cannot be pulled."""
    CONTAINER_CANNOT_START = 4
    """Another reason for which a container cannot be made, or an init container that fails again and again."""
    STARTING = 5
    """On a node; the program does not run yet."""
    NODE_NOT_READY = 6
    """The program runs on a node that is NotReady."""
    TERMINATING = 7
    """The pod is being deleted, or the platform has ended it."""
    RUNNING = 8
    """The program runs; the pod is not ready."""
    READY = 9
    """The program runs, and the pod is ready."""
    ENDED = 10
    """The program has ended with exit code 0."""
    CRASHED = 11
    """The program, or its pod, has failed."""
    UNKNOWN = 12
    """The kubelet has lost sight of the pod."""


STAGES = len(Stage)

_IMAGE = frozenset(
    (
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    )
)
"""Reasons for waiting that are about the image (kubernetes: pkg/kubelet/images/types.go)."""


def stage_of(pod: Pod, done: bool) -> Stage:
    """The stage of a pod; ``done``: its member has succeeded, whatever the pod shows."""
    if done:
        return Stage.ENDED
    if pod.failed:
        return Stage.TERMINATING if pod.disruption else Stage.CRASHED
    if pod.terminating:
        return Stage.TERMINATING
    if pod.started:
        if pod.cut_off:
            return Stage.NODE_NOT_READY
        if pod.phase is PodPhase.UNKNOWN:
            return Stage.UNKNOWN
        return Stage.READY if pod.ready else Stage.RUNNING
    return _waiting(pod.scheduled, pod.waiting_reason)


def _waiting(scheduled: bool, reason: str) -> Stage:
    if not scheduled:
        if reason == SCHEDULING_GATED:
            return Stage.QUEUED
        return Stage.SCHEDULING if reason in PATIENT else Stage.UNSCHEDULABLE
    if reason in PATIENT:
        return Stage.STARTING
    return Stage.IMAGE_PULL if reason in _IMAGE else Stage.CONTAINER_CANNOT_START
