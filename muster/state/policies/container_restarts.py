"""Restarts of containers in their pods: how often the kubelet made them, and what the first of the last ends was.

A pod whose policy is OnFailure or Always keeps its place when its container fails. The coordinator may have every rank
in its roll a moment later, so the roll shows nothing of it. The counts of the kubelet do.

Members of a gang end together: what one of them dies of ends the others within seconds. So ends that follow each other
within ``TOGETHER`` seconds are one row, and the first of them is its cause. When the container of that one ends once
more, the next row begins.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Final

from msgspec.structs import replace

from muster.api.causes import ContainerRestarts
from muster.state.facts.context import Context
from muster.state.facts.failure_cause import cause_of
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Cause

TOGETHER: Final = 60.0
"""Seconds: frameworks end the other members of a gang within their heartbeat's patience."""
LOOKED_AT: Final = 64
"""Members that are looked at, those whose pods have changed last."""
COMPLETED: Final = "Completed"
NOT_REPORTED: Final = "EndNotReported"
"""Reason if the status of the pod has no end of a container that was started again."""
NONE: Final = ContainerRestarts()


def track(context: Context) -> ContainerRestarts | None:
    """Return the restarts of the record with those that the pods show now."""
    record, shown = context.record, context.tally.restarts
    before = record.in_place or NONE
    if record.finished or shown == before.shown:
        return record.in_place
    if shown < before.shown:  # pods are gone, or an epoch is over
        return replace(before, shown=shown)
    more = shown - before.shown
    after = replace(before, count=before.count + more, shown=shown)
    known = before.cause
    own = context.tally.members.get(known.rank) if known is not None and known.epoch == record.epoch else None
    if known is None or own is None or own.uid != known.uid:
        return _begun(context, after)
    if own.restarts > before.times:
        return replace(_of(context, own, after), others=0)
    latest = max(map(_ended_at, _looked_at(context)), default=0.0)
    if latest - before.latest_at > TOGETHER:
        return _begun(context, after)
    return replace(after, others=before.others + more, latest_at=max(latest, before.latest_at))


def _looked_at(context: Context) -> Iterable[Pod]:
    return islice(reversed(context.tally.restarted.values()), LOOKED_AT)


def _begun(context: Context, restarts: ContainerRestarts) -> ContainerRestarts:
    """Return the restarts with the first end of the last row of ends as their cause."""
    ends = sorted(_looked_at(context), key=lambda pod: (_ended_at(pod), pod.rank))
    since = restarts.latest_at if restarts.cause is not None and restarts.cause.epoch == context.record.epoch else -1.0
    row: list[Pod] = []
    for pod in ends:
        if row and _ended_at(pod) - _ended_at(row[-1]) > TOGETHER:
            row = []
        if _ended_at(pod) > since:
            row.append(pod)
    if not row:
        return restarts
    return replace(_of(context, row[0], restarts), others=len(row) - 1, latest_at=_ended_at(row[-1]))


def _of(context: Context, pod: Pod, restarts: ContainerRestarts) -> ContainerRestarts:
    return replace(restarts, cause=_cause(context, pod), times=pod.restarts, latest_at=_ended_at(pod))


def _cause(context: Context, pod: Pod) -> Cause:
    """Return the cause of the last end of a container that was started again in the pod."""
    ended = replace(pod, exit=pod.last_exit, disruption="", terminating=False)
    cause = replace(cause_of(context, ended), at=_ended_at(pod), disruption=False)
    if pod.last_exit is None:
        return replace(cause, reason=NOT_REPORTED)
    return cause if pod.last_exit.code else replace(cause, reason=pod.last_exit.reason or COMPLETED)


def _ended_at(pod: Pod) -> float:
    return pod.last_exit.finished_at if pod.last_exit is not None else 0.0
