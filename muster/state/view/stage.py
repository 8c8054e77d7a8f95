"""The stage of a member: how far its pod has come, and whether its process is at work while others wait for it.

The pod alone shows the stage. The tally counts the members that the coordinator does not know by stage and by what
their pods show (``view.tally``), so that it is known at no cost what keeps the missing ranks. ``state.facts.causes``
has the cause of each.
"""

from collections.abc import Iterable
from enum import IntEnum
from math import inf
from typing import Final, NamedTuple

from muster.api.places import INPUT
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


WORKS = 30.0
"""Seconds for which a process is at work after it was last seen to be."""
OWN_SECONDS = 600.0
"""Seconds for which others may wait for one that is at work, in the first such pause."""


class Doing(NamedTuple):
    """The work of one process, as far as it shows that itself: it computes, reads or writes. It is a claim."""

    place: str = ""
    """``in evaluate (train.py:40)``."""
    quiet: float = inf
    """Seconds since it was last seen at work, as of its report."""
    how: str = ""
    """The last work: one of the words of ``muster.api.places``."""
    alone: bool = False
    """True if it waits, and for no other rank."""
    meets: bool = False
    """True if it is in a call of torch.distributed, in which a program waits for other ranks."""

    @property
    def works(self) -> bool:
        """True if it is at work."""
        return self.quiet < WORKS


class Awaited(NamedTuple):
    """Ranks at work, each with its work, and the number of others that wait for them.

    A pause of one rank (an evaluation, a checkpoint) looks like a hang to all the others: it is none as long as the
    rank is seen at work, and no longer than ``OWN_SECONDS``, or five times the longest such pause before. One that
    waits for a person to type may wait for any time.
    """

    workers: tuple[tuple[int, Doing], ...]
    waiting: int

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks at work."""
        return tuple(rank for rank, _ in self.workers)

    def outlasts(self, seconds: float, patience: float) -> bool:
        """Return True if it has lasted longer than a pause may; ``patience`` is five times the longest before."""
        for_a_person = all(doing.how == INPUT for _, doing in self.workers)
        return not for_a_person and seconds >= max(OWN_SECONDS, patience)


def awaited(workers: Iterable[tuple[int, Doing]], waiting: int, before: Awaited | None) -> Awaited | None:
    """Return the ranks at work; the same as ``before`` keep their places, so that the sentence stays the same."""
    found = Awaited(tuple(sorted(workers)), waiting)
    if not found.workers or not waiting:
        return None
    return before if before is not None and before.ranks == found.ranks else found
