"""The stage of a member: how far its pod has come, as the pod alone shows it.

The tally counts the members that the coordinator does not know by stage and by what their pods show
(``view.tally``), so that it is known at no cost what keeps the missing ranks. ``state.facts.causes`` has the cause of
each.
"""

from enum import IntEnum
from typing import Final, NamedTuple

from muster.state.vocabulary.pod import PATIENT, SCHEDULING_GATED, Pod, PodPhase


class Stage(IntEnum):
    """The stages, from those that have come least far to those that most likely have arrived."""

    QUEUED = 0
    """Scheduling gates are on the pod."""
    UNSCHEDULABLE = 1
    """No node, and the scheduler gives the reason."""
    SCHEDULING = 2
    """No node yet."""
    CANNOT_START = 3
    """On a node; something keeps a container from being made, or an init container fails again and again."""
    STARTING = 4
    """On a node; the program does not run yet."""
    UNKNOWN = 5
    """The kubelet has lost sight of the pod."""
    NODE_NOT_READY = 6
    """The program runs on a node that is NotReady."""
    TERMINATING = 7
    """The pod is being deleted, or the platform has ended it."""
    CRASHED = 8
    """The program, or its pod, has failed."""
    RUNNING = 9
    """The program runs; the pod is not ready."""
    READY = 10
    """The program runs, and the pod is ready."""
    ENDED = 11
    """The program has ended with exit code 0."""


WAITS: Final = (Stage.QUEUED, Stage.UNSCHEDULABLE, Stage.SCHEDULING, Stage.CANNOT_START, Stage.STARTING)
"""Stages before the start of the program."""
RUNS: Final = (Stage.RUNNING, Stage.READY)
"""Stages in which the program runs."""


class Shown(NamedTuple):
    """The stage of a pod, and the reason that kubelet, scheduler or platform report; often empty."""

    stage: Stage
    reason: str = ""


def shown(pod: Pod, done: bool) -> Shown:
    """Return what a pod shows; ``done``: its member has succeeded, whatever the pod shows."""
    stage = stage_of(pod, done)
    if stage in WAITS:
        reason = pod.waiting_reason
    elif stage is Stage.CRASHED:
        reason = pod.exit.reason if pod.exit else pod.waiting_reason
    else:
        reason = pod.disruption if stage is Stage.TERMINATING else ""
    return Shown(stage, reason)


def stage_of(pod: Pod, done: bool) -> Stage:
    """Return the stage of a pod; ``done`` as above."""
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
    if not pod.scheduled:
        if pod.waiting_reason == SCHEDULING_GATED:
            return Stage.QUEUED
        return Stage.SCHEDULING if pod.waiting_reason in PATIENT else Stage.UNSCHEDULABLE
    return Stage.STARTING if pod.waiting_reason in PATIENT else Stage.CANNOT_START
