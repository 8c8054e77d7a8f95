"""The time of an obstacle: it is called Stuck once it has lasted its patience, and no longer when it is gone.

``track`` keeps the reason and the beginning of an obstacle (``gathering.obstacles``) in the record, so that its time
continues when another daemon takes over.

An obstacle is an alert and no verdict: the clocks decide. While a gate is on a pod no clock runs: the times from which
clocks count are moved by the time in the queue when the gates are gone.

A container that is started again and again (an init container in CrashLoopBackOff) is no obstacle while it runs for a
moment. So an obstacle that was called Stuck stays for ``LINGER`` seconds after it was seen last, while the member has
not started. And a rank that could start at last arrives a moment later: it does not count as missing from the roll
before ``LINGER`` seconds have passed.

Kubelets alternate between reasons while they retry (ErrImagePull, ImagePullBackOff), and members may be held by
different ones: another reason of the same kind does not restart the patience, and so cannot flap Stuck. Nor does a
coordinator that leaves one question unanswered, as on a busy machine, after it reported a request that is unmet.
"""

from math import inf

from msgspec.structs import replace

from muster.api.causes import Blocked
from muster.state.facts.causes import table
from muster.state.facts.context import Context
from muster.state.facts.obstacle import Obstacle
from muster.state.policies.gathering import obstacles
from muster.state.policies.watched import obstacles as of_watched
from muster.state.view.stage import Shown, Stage
from muster.state.vocabulary.record import RANKS_ENDED, Phase, Record
from muster.state.vocabulary.rules import Moment

LINGER = 10.0
"""Seconds without the obstacle after which a container counts as made, if its program has not started sooner."""
_KINDS = {
    obstacles.QUEUED: "queue",
    obstacles.QUEUED_TWICE: "queue",
    obstacles.PARTLY_QUEUED: "queue",
    obstacles.NODE_NOT_READY: "node",
    obstacles.SANDBOX: "sandbox",
    obstacles.INIT_RUNS: "init",
    RANKS_ENDED: "ended",
    obstacles.REQUEST_UNMET: "request",
    of_watched.MEMBER_FAILED: "member",
    of_watched.PODS_MISSING: "pods",
    of_watched.COORDINATOR_GONE: "coordinator",
    of_watched.RESTARTED_IN_PLACE: "restarted",
    of_watched.STATUS_IS_FALSE: "status",
    of_watched.FAILURE_REPORTED: "status",
}
"""Our own reasons."""
_SCHEDULERS = ("Unschedulable", "SchedulerError")
"""Reasons of a false PodScheduled condition (kubernetes: pkg/scheduler)."""
_PAUSED = (Moment.STARTED, Moment.EPOCH_STARTED, Moment.SCHEDULED, Moment.ASSEMBLING)
"""The times that are moved by the time in a queue."""


def queued(record: Record) -> bool:
    """Return True if scheduling gates are on pods of this epoch: no clock runs."""
    return record.blocked is not None and _kind(record.blocked.reason) == "queue"


def track(context: Context, obstacle: Obstacle | None) -> Record:
    """Return the record with the obstacle's reason and the time since when one of its kind exists."""
    record, before, now = context.record, context.record.blocked, context.now
    if obstacle and obstacle.begins > now:
        obstacle = None
    kind = _kind(obstacle.reason) if obstacle else ""
    same_kind = before is not None and _kind(before.reason) == kind
    if queued(record) and not same_kind:
        record = _out_of_the_queue(record, now)
    if obstacle is None:
        return record if before is None else replace(record, blocked=_lingering(context, before))
    if before and before.reason == obstacle.reason:
        return record if before.gone_at is None else replace(record, blocked=Blocked(before.reason, before.since))
    since = before.since if before and same_kind else min(obstacle.dated or now, now)
    return replace(record, blocked=Blocked(obstacle.reason, since))


def _lingering(context: Context, before: Blocked) -> Blocked | None:
    """Return the obstacle that is not seen now, as long as it may come back or its rank may arrive."""
    called = before.gone_at is not None or obstacles.called_stuck(context.record, before)
    awaited = may_come_back(context) or (called and _roll_is_called(context)) or _is_unheard(context, before)
    if not context.record.gathering or not awaited:
        return None
    if before.gone_at is None:
        return replace(before, gone_at=context.now)
    return before if context.now < before.gone_at + LINGER else None


def may_come_back(context: Context) -> bool:
    """Return True if the obstacle was a container's, called Stuck, and its program has not started since."""
    before = context.record.blocked
    if before is None or _kind(before.reason) != "container" or not context.tally.idle:
        return False
    return context.now >= before.since + table.patience(Shown(Stage.CANNOT_START, before.reason))


def _is_unheard(context: Context, before: Blocked) -> bool:
    """Return True if the coordinator reported an unmet request of the program, and does not answer now."""
    return before.reason == obstacles.REQUEST_UNMET and context.probe is not None and not context.probe.serving


def _roll_is_called(context: Context) -> bool:
    """Return True if the coordinator has answered, and not every rank has arrived."""
    probe = context.probe
    return probe is not None and probe.served and probe.arrived < context.plan.expected


def lingers_until(record: Record) -> float | None:
    """Return when an obstacle that is not seen now is over."""
    return record.blocked.gone_at + LINGER if record.blocked and record.blocked.gone_at is not None else None


def due(record: Record, obstacle: Obstacle | None) -> float | None:
    """Return when the obstacle counts as stuck, or as an obstacle at all."""
    if obstacle is None:
        return None
    if record.blocked is None or _kind(record.blocked.reason) != _kind(obstacle.reason):
        return obstacle.begins or None
    return None if obstacle.patience == inf else max(record.blocked.since, obstacle.begins) + obstacle.patience


def _out_of_the_queue(record: Record, now: float) -> Record:
    """Return the record with the times of its clocks moved by the time in the queue."""
    since = record.blocked.since if record.blocked else now
    if record.finished or record.phase is Phase.SUSPENDED:
        return record
    times = {moment.value: getattr(record, moment.value) for moment in _PAUSED}
    moved = {name: now if at >= since else at + (now - since) for name, at in times.items() if at is not None}
    return replace(record, **moved)


def _kind(reason: str) -> str:
    """Return the subject of the obstacle; a reason that is neither ours nor the scheduler's is a container's."""
    return "scheduler" if reason in _SCHEDULERS else _KINDS.get(reason, "container")
