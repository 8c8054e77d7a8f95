"""Bugs in what changes hands: the leader, the turn of a member, and whom a restart names."""

from typing import Any

from msgspec.structs import replace

from muster.daemon import app
from muster.daemon.experiments.index import ExperimentIndex
from muster.kube.workqueue import WorkQueue
from muster.state.facts.context import Context
from muster.state.facts.failure_cause import cause_of
from muster.state.policies import restart
from muster.state.policies.gathering import obstacles
from muster.state.view.tally import Tally
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Cause
from tests.planted.bug import Hunt, Swaps, bug, instead_of, swap


@bug(Hunt("clean", "member-fails", operator="pytorch"), Hunt("clean", "preempted"), shown_by="names rank")
@instead_of(restart, "cause_of")
def next_rank_named(_: Any, context: Context, pod: Pod) -> Cause:
    """A restart names the rank after the one that failed."""
    cause = cause_of(context, pod)
    return replace(cause, rank=(cause.rank + 1) % 4)


@bug(Hunt("clean", "member-fails", operator="jobset"), Hunt("clean", "preempted"), shown_by="does not name rank")
def pod_unnamed() -> Swaps:
    """A restart names no pod."""
    return [swap(restart, "cause_of", lambda context, pod: replace(cause_of(context, pod), pod=""))]


@bug(Hunt("clean", "gated", operator="jobset-sequential"), shown_by="it is called stuck, PartlyQueued")
@instead_of(obstacles, "_queued")
def ended_members_run(queued: Any, context: Any) -> Any:
    """Members that have ended count as running beside one that a queue gates."""
    found, tally = queued(context), context.tally
    if not tally.succeeded or found.reason != obstacles.QUEUED:
        return found
    since = context.record.assembling_at or context.now
    return replace(found, reason=obstacles.PARTLY_QUEUED, patience=obstacles.QUEUE_PATIENCE, begins=since)


@bug(Hunt("hold", "preempted", operator="jobset-sequential"), shown_by="is created 2 times")
@instead_of(Tally, "collect")
def turn_taken_twice(collect: Any, self: Tally, pod: Pod) -> None:
    """A member of a sequential group whose pod is gone is made again in the same epoch."""
    collect(self, pod)
    self.gone.clear()


@bug(Hunt("takeover", "member-fails"), Hunt("takeover", "suspended"), Hunt("takeover", "preempted"))
@instead_of(app, "take_over")
def nothing_queued_at_takeover(_: Any, index: ExperimentIndex, border: Any, queue: WorkQueue, latest: Any) -> None:
    """A standby that takes over decides about nothing before something changes."""
    for entry in index:
        entry.view.engine.reset()
        entry.view.probe = None
