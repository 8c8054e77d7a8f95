"""Sentences for people: why a member is not there, and what ended an epoch.

They name the rank, the pod and the reason, in that order, because that is what the reader will type next.
"""

from itertools import islice

from muster.api.names import CONTAINER
from muster.api.values.rank_ranges import to_ranges
from muster.state.context import Context
from muster.state.group import Member
from muster.state.record import Cause
from muster.state.view.pod import Pod, PodPhase
from muster.state.view.roll import RankState


def cause_of(context: Context, pod: Pod) -> Cause:
    """The cause that a failed, disrupted or leaving pod of the present epoch stands for."""
    reason, message = "ContainerFailed", ""
    if pod.disruption:
        reason, message = pod.disruption, pod.waiting_message
    elif was_deleted(pod):
        reason, message = "PodDeleted", "the pod was deleted while its gang was at work"
    elif pod.phase is PodPhase.FAILED and pod.waiting_reason == "Evicted":  # for its own excess
        reason, message = pod.waiting_reason, pod.waiting_message
    elif pod.exit and pod.exit.code:
        reason, message = pod.exit.reason or "Error", pod.exit.message
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
    )


KILLED = frozenset({143, 137})
"""Exit codes of SIGTERM and SIGKILL, which is how a pod that is deleted ends."""


def was_deleted(pod: Pod) -> bool:
    """Whether the pod was deleted while its gang was at work, and where it has ended, ended because of that."""
    return pod.terminating and (not pod.failed or pod.interrupted or _killed(pod))


def _killed(pod: Pod) -> bool:
    return pod.exit is not None and pod.exit.code in KILLED and pod.exit.reason != "OOMKilled"


def sentence(cause: Cause) -> str:
    """``rank 2 (gpu-1, run-gpu-0-1-x7k2p) exited 137 (signal 9), OOMKilled on node a``."""
    where = f"{cause.place}, " if cause.place else ""
    who = f"rank {cause.rank} ({where}{cause.pod})" if cause.pod else "the gang"
    if cause.exit_code:
        detail = f" (signal {cause.signal})" if cause.signal else ""
        label = f", {cause.reason}" if cause.reason not in ("Error", "ContainerFailed", "") else ""
        what = f"exited {cause.exit_code}{detail}{label}"
    else:
        what = f"ended: {cause.reason}"
    if cause.container not in ("", CONTAINER):
        what += f" in container {cause.container}"
    where = f" on node {cause.node}" if cause.node else ""
    why = f": {cause.message}" if cause.message else ""
    return f"{who} {what}{where}{why}"


NAMED = 3
"""Ranks that a sentence names with their pods."""
NAMED_RANGES = 100
"""Characters of the ranges of ranks in a sentence."""
EXACT = 16
"""Members of a gang up to which sentences give counts exactly."""


def share(here: int, size: int) -> str:
    """``3/4``; of a large gang the half: ``256 to 511 of 512``, which stays true while the count moves on."""
    half = (size + 1) // 2
    if size <= EXACT or here >= size:
        return f"{here}/{size}"
    return f"{half} to {size - 1} of {size}" if here >= half else f"fewer than {half} of {size}"


def why_idle(pod: Pod) -> str:
    """Why a pod's program does not run yet: ``Pending: Unschedulable, 0/8 nodes have nvidia.com/gpu``."""
    reason = pod.waiting_reason or ("ContainerCreating" if pod.scheduled else "not scheduled yet")
    detail = f", {pod.waiting_message}" if pod.waiting_message else ""
    return f"{pod.phase}: {reason}{detail}"


def why_missing(context: Context, rank: int) -> str:
    """``rank 2 (run-worker-0-2-x7k2p, running but never called the coordinator)``."""
    pod = context.tally.members.get(rank)
    member = context.plan.member(rank)
    name = pod.name if pod else expected_name(context, member)
    if pod is None:
        why = "it has succeeded, and its pod is gone" if rank in context.tally.done else "no pod yet"
    elif pod.failed:
        why = f"failed, {pod.exit.reason or 'exit'} {pod.exit.code}" if pod.exit else "failed"
    elif pod.succeeded:
        why = "ended without calling the coordinator"
    elif pod.terminating:
        why = "being deleted"
    elif pod.started and pod.waiting_reason:
        why = why_idle(pod)  # its container waits to be started again: nothing of it runs
    elif pod.cut_off:
        why = f"running, but its node {pod.node} is not ready"
    elif pod.started and rank < len(context.tally.roll) and context.tally.roll[rank] is RankState.STALE:
        why = "running, but it belongs to the life of the coordinator before this one"
    elif pod.started:
        why = "running, but it has not called the coordinator"
    else:
        why = why_idle(pod)
    return f"rank {rank} ({placed(context, rank, name)}, {why})"


def of_idle(context: Context) -> str:
    """``rank 2 (run-worker-0-2-x7k2p, Pending: ContainerCreating) and 3 more``."""
    idle = context.tally.idle
    pod = next(iter(idle.values()), None)
    if pod is None:
        return "no pod is there"
    more = f" and {len(idle) - 1} more" if len(idle) > 1 else ""
    return f"rank {pod.rank} ({placed(context, pod.rank, pod.name)}, {why_idle(pod)}){more}"


def of_ends(context: Context) -> str:
    """``rank 1 ended with exit code 0, rank 0 (run-worker-0-0-x7k2p, Running) did not``; empty where none has ended.

    A rank that ended while others run on is most often what these wait for.
    """
    done, size = context.tally.done, context.plan.size
    if not done or len(done) >= size:
        return ""
    ended = f"{'rank' if len(done) == 1 else 'ranks'} {to_ranges(sorted(done), NAMED_RANGES)} ended with exit code 0"
    rest = list(islice((rank for rank in range(size) if rank not in done), NAMED))
    named = ", ".join(_with_state(context, rank) for rank in rest)
    more = f" and {size - len(done) - len(rest)} more" if size - len(done) > len(rest) else ""
    return f"{ended}, {'rank' if len(rest) == 1 else 'ranks'} {named}{more} did not"


def _with_state(context: Context, rank: int) -> str:
    pod = context.tally.members.get(rank)
    return f"{rank} ({placed(context, rank, pod.name if pod else 'no pod')}{f', {pod.phase}' if pod else ''})"


def of_lingering(context: Context) -> str:
    """``2 pods of older epochs (first: run-worker-0-1-x7k2p on node a)``."""
    pods = context.lingering
    if not pods:
        return "pods of older epochs"
    where = f" on node {pods[0].node}" if pods[0].node else ""
    if len(pods) == 1:
        return f"1 pod of an older epoch ({pods[0].name}{where})"
    return f"{len(pods)} pods of older epochs (first: {pods[0].name}{where})"


def placed(context: Context, rank: int, pod: str) -> str:
    """``gpu-1, run-gpu-0-1-x7k2p``: the pod, after the member's place where there are several groups."""
    place = context.plan.place(rank)
    return f"{place}, {pod}" if place else pod


def expected_name(context: Context, member: Member | None) -> str:
    """The pod a member will have, for messages about pods that are not there."""
    return context.plan.pod_name(member, context.record.epoch) if member else "no such member"
