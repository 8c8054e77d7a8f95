"""The cause of a failure, from a pod of the present epoch or from one that is gone, and the rule that matches it."""

from typing import Final

from msgspec.structs import replace

from muster.api.last_words import NONE, sentence
from muster.api.names import CONTAINER
from muster.api.values.termination_message import are_a_reason
from muster.state.facts.context import Context
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Exit, Pod, PodPhase
from muster.state.vocabulary.record import Cause
from muster.state.vocabulary.rules import Escalation, FailureAction, FailureRule

_OF_MEMBER: Final = (FailureAction.RESTART_MEMBER, FailureAction.IGNORE)


def first_rule(plan: Plan, cause: Cause, failures: float, *, of_job: bool = False) -> FailureRule:
    """Return the first matching rule; without one, a counted restart of the gang.

    A rule that is used up for the members of a job is skipped. If it has a new reason for the failure (``becomes``),
    the failure is one of the job, and rules about a member are skipped. The record keeps the member's own failure.

    ``failures`` of the job were counted before; infinity: every rule with such a limit is used up. ``of_job``: it is
    the failure of a job and of no member.
    """
    failure = cause
    for rule in plan.failures.of_group(cause.group):
        if (of_job and rule.action in _OF_MEMBER) or not rule.matches(failure):
            continue
        if rule.per_job is None or failures < rule.per_job:
            return rule
        if rule.becomes is not None:
            of_job = True
            failure = replace(cause, reason=rule.becomes.reason, message=_message(plan, rule.becomes, cause))
    return FailureRule(FailureAction.RESTART_GANG)


def _message(plan: Plan, becomes: Escalation, cause: Cause) -> str:
    """Return the message of the failure as it counts for the rules after one that is used up."""
    names = {"namespace": plan.namespace, "pod": cause.pod, "container": cause.container}
    names |= {"exit_code": str(cause.exit_code), "message": cause.message or cause.last_line}
    message = becomes.message
    for name, value in names.items():
        message = message.replace(f"{{{name}}}", value)
    return message


def ended_by_kubelet(pod: Pod) -> str:
    """Return ``Evicted``: why the kubelet ended the pod, for its own excess or deadline; empty if its program ended."""
    return pod.waiting_reason if pod.phase is PodPhase.FAILED else ""


def cause_of(context: Context, pod: Pod) -> Cause:
    """Return the cause of a failed, disrupted or leaving pod of the present epoch."""
    reason, message, last_line = "ContainerFailed", "", ""
    if pod.disruption:
        reason, message = pod.disruption, pod.waiting_message
    elif was_deleted(pod):
        reason, message = "PodDeleted", "the pod was deleted while its gang was at work"
    elif by_kubelet := ended_by_kubelet(pod):
        reason, message = by_kubelet, pod.waiting_message
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
    """Return the failure of a member whose pod was removed, for an unknown reason. The node is its last known one.

    The live API may show the loss before the watch does: then the pod still counts as a member.
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
    """Return the cause of the end of the run."""
    return replace(cause, final=True) if cause is not None else None


KILLED = frozenset({143, 137})
"""Exit codes of SIGTERM and SIGKILL, with which a deleted pod ends."""
OUT_OF_MEMORY: Final = "OOMKilled"
RANK_FAILED: Final = "RankFailed"
"""Reason of a rank that the others lost, though its own pod has not failed."""


def last_words(context: Context, pod: Pod, end: Exit) -> tuple[str, str]:
    """Return the known facts of that end, and the last printed line if they do not explain it."""
    if end.reason == OUT_OF_MEMORY:
        group = context.plan.group_of(pod.rank)
        limit = group.pod.limits.get("memory", "") if group and end.container in ("", CONTAINER) else ""
        return f"memory limit {limit}" if limit else "", end.last_line
    if are_a_reason(end.explains, end.own_code):
        return end.message, ""
    return ("", end.last_line) if end.child == NONE else (sentence(end.child), "")


def was_deleted(pod: Pod) -> bool:
    """Return True if the pod was deleted while its gang was at work and, if it has ended, ended because of that."""
    return pod.terminating and (not pod.failed or pod.interrupted or was_killed(pod))


def was_killed(pod: Pod) -> bool:
    """Return True if a signal from outside ended the pod: neither its own fault, nor too much memory."""
    return pod.exit is not None and pod.exit.code in KILLED and pod.exit.reason != OUT_OF_MEMORY
