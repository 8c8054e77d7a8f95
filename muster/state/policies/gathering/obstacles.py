"""Obstacles: they keep a member from starting or working, and are called Stuck after their patience.

``current`` names the most definite obstacle now; ``gathering.blocked`` keeps its time.

===================  ===================================================================  ========
reason               obstacle                                                             patience
===================  ===================================================================  ========
``Queued``           scheduling gates are on pods: another controller queues them         none
``PartlyQueued``     the same, while other members run                                    60 s
``QueuedTwice``      Kueue gates pods of an experiment that it has admitted as a whole    60 s
``NodeNotReady``     the node lifecycle controller has marked a running member's node     15 s
the container's own  a container that cannot be made, or an image that cannot be pulled   15 s
the scheduler's own  no node fits a member (``Unschedulable``)                            60 s
``SandboxNotReady``  members have a node, and no volumes or no network 60 s after all had one     60 s
``InitContainerRuns``  an init container has not ended 60 s after all had a node                  none
``RanksEnded``       members that met at a coordinator ended with 0 while others run on   300 s
``ContainerRunsOn``  all programs have ended with 0, and another container keeps pods     30 s
``RequestUnmet``     the program asks Ray for what none of its nodes has                   60 s
``MemberFailed``     a member of a watched run failed, and is not replaced              60 s
``PodsMissing``      the controller of a watched run has not made all of its pods       60 s; 0 where there is none
``CoordinatorGone``  the pod of a watched run's coordinator is gone or not at work      60 s
``RestartedInPlace`` a member of a watched run was started again, and is not ready      120 s
``FailureReported``  its controller reports a failure of a watched run that continues   60 s
``StatusIsFalse``    10 s after the program, or all members, ended the object does not    20 s
                     show it
===================  ===================================================================  ========

A submitter ends when its program has, and a group that others await completes before they begin: that is wanted, and
no ``RanksEnded``, though head and workers still run.
A further end restarts the 300 s of ``RanksEnded``, for ``ENDS_FOR`` seconds after the first, and never once Stuck is
true: it is no evidence that the others work.
"""

from collections.abc import Mapping
from itertools import islice

from muster.api.causes import Blocked
from muster.state.facts import gates
from muster.state.facts.causes import table
from muster.state.facts.causes.table import Causes
from muster.state.facts.context import Context
from muster.state.facts.obstacle import Kind, Obstacle
from muster.state.policies.watched import obstacles as of_watched
from muster.state.policies.watched.obstacles import unsaid
from muster.state.view.stage import shown
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import RANKS_ENDED, Phase, Record

SLOW_AFTER = 60.0
"""Seconds after the last member got its node: a volume is attached, an address given in less."""
QUEUE_PATIENCE = 60.0
"""Seconds in which the rest of a gang must follow its first process out of a queue."""
UNMET_PATIENCE = 60.0
"""Seconds: Ray's own warning comes after 30 s, and a node may join."""
OUTLIVED_PATIENCE = 30.0
"""Seconds in which a container beside a program that has ended must end, too."""
ENDED_PATIENCE = 300.0
"""Seconds: rank 0 may write results for minutes when the others have ended."""
ENDS_FOR = 900.0
"""Seconds for which further ends postpone Stuck: a gang whose members end one after another is at work, so far."""
ENDS_TOGETHER = 10.0
"""Seconds within which further ends are no news: members of a gang never end in the same instant."""
LOOKED_AT = 8
"""Most members that start slowly and are looked at."""

QUEUED, NODE_NOT_READY = Causes.QUEUED.stuck_as, Causes.NODE_NOT_READY.stuck_as
SANDBOX, INIT_RUNS = Causes.SANDBOX.stuck_as, Causes.INIT_CONTAINER.stuck_as
CONTAINER_RUNS_ON = Causes.CONTAINER_RUNS_ON.stuck_as
PARTLY_QUEUED = "PartlyQueued"
QUEUED_TWICE, REQUEST_UNMET = "QueuedTwice", "RequestUnmet"
KUEUE_GATE = "kueue.x-k8s.io/admission"


def current(context: Context) -> Obstacle | None:
    """Return the most definite obstacle of this epoch, if the gang is wanted. ``begins``: when it counts."""
    if not context.record.gathering:
        return None
    tally, size = context.tally, context.plan.size  # members that ended in a sequential group are counted, too
    if tally.gated:
        return _queued(context)
    if tally.cut_off:
        return _of_first(Kind.CUT_OFF, tally.cut_off, NODE_NOT_READY)
    if tally.held:
        return _of_first(Kind.HELD, tally.held)
    if tally.unplaced:
        return _of_first(Kind.UNPLACED, tally.unplaced)
    if (kept := tally.outlived) and len(kept) + tally.succeeded >= size:
        first = min(pod.rank for pod in kept.values())
        return Obstacle(Kind.OUTLIVED, CONTAINER_RUNS_ON, OUTLIVED_PATIENCE, first)
    if context.plan.engine is Engine.WATCH and (theirs := _watched(context)):
        return theirs
    if context.record.phase is Phase.PENDING and (slow := _slow_start(context)):
        return slow
    meets = context.plan.coordinator is not None and not context.plan.sequential
    if tally.working and meets and ended_early(context):
        return _ended(context)
    return _unmet(context)


def ends_count_at(context: Context) -> float:
    """Return the wall second from which it counts that members have ended while others still run."""
    at = context.tally.ended_at
    return (at if at <= context.now else 0.0) + ENDS_TOGETHER  # a kubelet's clock may be ahead


def ended_early(context: Context) -> int:
    """Return the number of members that have ended with 0 although others may need them."""
    done = context.tally.succeeded and context.tally.succeeded - sum(map(len, gates.prepared(context)))
    return done - (context.plan.submitter in context.tally.done)


def _slow_start(context: Context) -> Obstacle | None:
    """Return the obstacle of members without volumes or network, or with an init container that has not ended.

    A kubelet tries volumes and network again and again, and gives the reason in Events only; an init container may work
    for hours. Both show in no waiting reason but ContainerCreating and PodInitializing, so they count after a minute.
    """
    scheduled_at, idle = context.record.scheduled_at, context.tally.idle
    if scheduled_at is None:
        return None
    pods = [pod for pod in islice(idle.values(), LOOKED_AT) if not pod.terminating]
    unmade = [pod for pod in pods if not pod.sandboxed]
    held = unmade or [pod for pod in pods if pod.holder]
    if not held:
        return None
    cause = Causes.SANDBOX if unmade else Causes.INIT_CONTAINER
    return Obstacle(Kind.SLOW, cause.stuck_as, cause.patience or 0.0, held[0].rank, scheduled_at + SLOW_AFTER)


def _unmet(context: Context) -> Obstacle | None:
    """Return the obstacle of a program that waits for resources that no member has, though the gang is complete."""
    probe = context.probe
    if probe is None or not probe.answer.unmet or not probe.answer.coordinator.serving:
        return None
    return Obstacle(Kind.UNMET, REQUEST_UNMET, UNMET_PATIENCE)


def _watched(context: Context) -> Obstacle | None:
    """Return the obstacle that only the controller of a watched run can remove."""
    if context.plan.watching.unrun and not context.tally.pods:
        return Obstacle(Kind.UNRUN, of_watched.PODS_MISSING, 0.0)
    since = {uid: of_watched.counts_from(context, pod) for uid, pod in context.tally.failed.items()}
    if since:
        uid = min(since, key=lambda uid: since[uid])
        rank = context.tally.failed[uid].rank
        return Obstacle(Kind.FAILED, of_watched.MEMBER_FAILED, of_watched.PATIENCE, rank, since[uid])
    if found := unsaid(context):
        return found
    if not of_watched.without_pod(context):
        return None
    dated = of_watched.never_made(context)
    return Obstacle(Kind.WITHOUT_POD, of_watched.PODS_MISSING, of_watched.PATIENCE, dated=dated)


def called_stuck(record: Record, obstacle: Blocked) -> bool:
    """Return True if the record calls the gang stuck for that obstacle."""
    return record.called_stuck is not None and record.stuck_reason == obstacle.reason


def _of_first(kind: Kind, pods: Mapping[str, Pod], reason: str = "") -> Obstacle:
    """Return the obstacle of these members; without a reason, it is that for which the first of them waits."""
    pod = next(iter(pods.values()))
    return Obstacle(kind, reason or pod.waiting_reason, patience_of(pod), pod.rank)


def patience_of(pod: Pod) -> float:
    """Return the seconds after which a member that waits like this is called Stuck, by the row of its cause."""
    return table.patience(shown(pod, done=False))


def _queued(context: Context) -> Obstacle:
    pod = next(iter(context.tally.gated.values()))
    if KUEUE_GATE in pod.waiting_message and context.plan.queue is not None:
        return Obstacle(Kind.GATED, QUEUED_TWICE, QUEUE_PATIENCE, pod.rank)
    if not running_beside(context):
        return Obstacle(Kind.GATED, QUEUED, patience_of(pod), pod.rank)
    begins = context.record.assembling_at or context.now
    return Obstacle(Kind.GATED, PARTLY_QUEUED, QUEUE_PATIENCE, pod.rank, begins)


def running_beside(context: Context) -> int:
    """Return the number of members that run while others are queued; ended ones of a sequential group do not count."""
    return context.tally.working - len(context.tally.idle)


def ended(context: Context) -> list[int]:
    """Return some of the ranks that have ended with 0 although others may need them."""
    return list(islice(gates.ended_early(context), LOOKED_AT))


def _ended(context: Context) -> Obstacle:
    first, counts_at, standing = next(iter(ended(context)), -1), ends_count_at(context), context.record.blocked
    if standing and standing.reason == RANKS_ENDED:  # another end restarts the patience, not the obstacle
        put_off = min(max(0.0, counts_at - standing.since), ENDS_FOR)
        patience = ENDED_PATIENCE if called_stuck(context.record, standing) else ENDED_PATIENCE + put_off
        return Obstacle(Kind.ENDED, RANKS_ENDED, patience, first)
    return Obstacle(Kind.ENDED, RANKS_ENDED, ENDED_PATIENCE, first, counts_at)
