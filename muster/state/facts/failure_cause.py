"""What a failure came of: the cause that a pod of the present epoch, or one that is gone, stands for."""

from typing import Final

from msgspec.structs import replace

from muster.api.last_words.launchers import NONE, sentence
from muster.api.names import CONTAINER
from muster.api.values.termination_message import are_a_reason
from muster.state.facts.context import Context
from muster.state.vocabulary.pod import Exit, Pod, PodPhase
from muster.state.vocabulary.record import Cause


def cause_of(context: Context, pod: Pod) -> Cause:
    """The cause that a failed, disrupted or leaving pod of the present epoch stands for."""
    reason, message, last_line = "ContainerFailed", "", ""
    if pod.disruption:
        reason, message = pod.disruption, pod.waiting_message
    elif was_deleted(pod):
        reason, message = "PodDeleted", "the pod was deleted while its gang was at work"
    elif pod.phase is PodPhase.FAILED and pod.waiting_reason == "Evicted":  # for its own excess
        reason, message = pod.waiting_reason, pod.waiting_message
    elif pod.exit and pod.exit.code:
        reason, message, last_line = pod.exit.reason or "Error", *last_words(context, pod, pod.exit)
    elif pod.phase is PodPhase.FAILED:
        reason, message = pod.waiting_reason or "PodFailed", pod.waiting_message
    return Cause(
        epoch=context.record.epoch,
        reason=reason,
        message=message,
        at=pod.exit.finished_at if pod.exit and pod.exit.finished_at else context.now,
        pod=pod.name,
        uid=pod.uid,
        group=pod.group,
        rank=pod.rank,
        container=pod.exit.container if pod.exit else "",
        node=pod.node,
        exit_code=pod.exit.code if pod.exit else None,
        signal=pod.exit.signal if pod.exit else 0,
        disruption=bool(pod.disruption) or was_deleted(pod),
        place=context.plan.place(pod.rank),
        last_line=last_line,
        device=pod.unhealthy,
    )


def gone_cause(context: Context, rank: int, group: str) -> Cause:
    """The failure of a member whose pod was removed, no one saw why. The node is the one it was last seen on.

    The live API may say so before the watch does: then the pod still counts as a member.
    """
    tally, epoch, member = context.tally, context.record.epoch, context.plan.member(rank)
    seen = tally.gone.get(rank) or tally.members.get(rank)
    name = context.plan.pod_name(member, epoch, context.record.attempt_of(rank)) if member else ""
    reason, message = "PodDeleted", "the member's pod is gone"
    if seen and seen.uid in context.view.engine.ended_vanished:
        reason, message = "PodAltered", "its label or ownerReference was changed, so how it ended was not seen"
    return Cause(
        epoch=epoch,
        reason=reason,
        message=message,
        at=context.now,
        pod=name,
        uid=seen.uid if seen else "",
        group=group,
        rank=rank,
        node=seen.node if seen else "",
        disruption=True,
        place=context.plan.place(rank),
    )


def final(cause: Cause | None) -> Cause | None:
    """The cause of the end of the run."""
    return replace(cause, final=True) if cause is not None else None


KILLED = frozenset({143, 137})
"""Exit codes of SIGTERM and SIGKILL, which is how a pod that is deleted ends."""


OUT_OF_MEMORY: Final = "OOMKilled"


RANK_FAILED: Final = "RankFailed"
"""Reason of a rank that the others were lost to, and whose own pod has not failed."""


def last_words(context: Context, pod: Pod, end: Exit) -> tuple[str, str]:
    """What is known of that end, and the last line that was printed where nothing is."""
    if end.reason == OUT_OF_MEMORY:
        group = context.plan.group_of(pod.rank)
        limit = group.pod.limits.get("memory", "") if group and end.container in ("", CONTAINER) else ""
        return f"memory limit {limit}" if limit else "", end.last_line
    if are_a_reason(end.explains, end.own_code):
        return end.message, ""
    return ("", end.last_line) if end.child == NONE else (sentence(end.child), "")


def was_deleted(pod: Pod) -> bool:
    """Whether the pod was deleted while its gang was at work, and where it has ended, ended because of that."""
    return pod.terminating and (not pod.failed or pod.interrupted or was_killed(pod))


def was_killed(pod: Pod) -> bool:
    """Whether the pod ended by a signal from outside: not by its own fault, nor because it used too much memory."""
    return pod.exit is not None and pod.exit.code in KILLED and pod.exit.reason != OUT_OF_MEMORY
