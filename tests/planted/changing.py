"""Bugs in what changes hands: the leader, the turn of a member, and whom a restart names."""

from typing import Any

from msgspec.structs import replace

from muster.daemon import app
from muster.daemon.experiments.index import ExperimentIndex
from muster.kube.workqueue import WorkQueue
from muster.state.facts.context import Context
from muster.state.facts.failure_cause import cause_of
from muster.state.facts.obstacle import Obstacle
from muster.state.policies import obstacles, restart
from muster.state.view.tally import Tally
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Cause
from tests.planted.bug import Hunt, Swaps, bug, swap


@bug(Hunt("clean", "member-fails", operator="pytorch"), Hunt("clean", "preempted"), shown_by="names rank")
def next_rank_named() -> Swaps:
    """A restart names the rank after the one that failed."""

    def beside(context: Context, pod: Pod) -> Cause:
        cause = cause_of(context, pod)
        return replace(cause, rank=(cause.rank + 1) % 4)

    return [swap(restart, "cause_of", beside)]


@bug(Hunt("clean", "member-fails", operator="jobset"), Hunt("clean", "preempted"), shown_by="does not name rank")
def pod_unnamed() -> Swaps:
    """A restart names no pod."""
    return [swap(restart, "cause_of", lambda context, pod: replace(cause_of(context, pod), pod=""))]


@bug(Hunt("clean", "gated", operator="jobset-sequential"), shown_by="it is called stuck, PartlyQueued")
def ended_members_run() -> Swaps:
    """Members that have ended count as running beside one that a queue gates."""
    queued = obstacles._queued

    def half(context: Any) -> Obstacle:
        found, tally = queued(context), context.tally
        if not tally.succeeded or found.reason != obstacles.QUEUED:
            return found
        since = context.record.assembling_at or context.now
        return replace(found, reason=obstacles.PARTLY_QUEUED, patience=obstacles.QUEUE_PATIENCE, begins=since)

    return [swap(obstacles, "_queued", half)]


@bug(Hunt("hold", "preempted", operator="jobset-sequential"), shown_by="is created 2 times")
def turn_taken_twice() -> Swaps:
    """A member of a sequential group whose pod is gone is made again in the same epoch."""
    collect = Tally.collect

    def forgetful(self: Tally, pod: Pod) -> None:
        collect(self, pod)
        self.gone.clear()

    return [swap(Tally, "collect", forgetful)]


@bug(Hunt("takeover", "member-fails"), Hunt("takeover", "suspended"), Hunt("takeover", "preempted"))
def nothing_queued_at_takeover() -> Swaps:
    """A standby that takes over decides about nothing before something changes."""

    def quiet(index: ExperimentIndex, border: Any, queue: WorkQueue, latest: Any) -> None:
        for entry in index:
            entry.view.engine.reset()
            entry.view.probe = None

    return [swap(app, "take_over", quiet)]
