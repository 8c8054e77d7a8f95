"""What keeps a member from starting or working, from its first moment, and for how long before it is called Stuck.

``current`` names the most definite obstacle now; ``policies.blocked`` keeps its time.

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
``FailureReported``  its controller reports a failure of a watched run that goes on     60 s
``StatusIsFalse``    10 s after the program, or all members, ended the object does not    20 s
                     say so
===================  ===================================================================  ========

A submitter ends when its program has: that is wanted, and no ``RanksEnded``, though head and workers run on.
A further end begins the 300 s of ``RanksEnded`` anew, for ``ENDS_FOR`` seconds after the first, and never once Stuck is
true: it is no evidence that the others work.
"""

from collections.abc import Mapping
from itertools import islice

import msgspec
from msgspec.structs import replace

from muster.api.names import QUEUE_LABEL
from muster.state.facts.causes import table
from muster.state.facts.causes.table import Causes
from muster.state.facts.context import Context
from muster.state.facts.diagnosis import grouping
from muster.state.facts.sentences import EXACT, placed, share, why_idle
from muster.state.policies.failures import avoidance
from muster.state.policies.watched import obstacles as of_watched
from muster.state.policies.watched.stale_status import unsaid
from muster.state.view.stage import shown
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import RANKS_ENDED, Blocked, ConditionType, Phase, Record

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
"""Seconds for which further ends put Stuck off: a gang whose members end one after another is at work, so far."""
ENDS_TOGETHER = 10.0
"""Seconds between ends that are no news: members of a gang never end in the same instant."""
NAMED = 8
"""How many members a sentence names."""

QUEUED, NODE_NOT_READY = Causes.QUEUED.stuck_as, Causes.NODE_NOT_READY.stuck_as
SANDBOX, INIT_RUNS = Causes.SANDBOX.stuck_as, Causes.INIT_CONTAINER.stuck_as
CONTAINER_RUNS_ON = Causes.CONTAINER_RUNS_ON.stuck_as
NATIVE = "make it an init container with restartPolicy Always, which ends with the program"
PARTLY_QUEUED = "PartlyQueued"
QUEUED_TWICE, REQUEST_UNMET = "QueuedTwice", "RequestUnmet"
KUEUE_GATE = "kueue.x-k8s.io/admission"
CURE = (
    "list Experiment.v1alpha1.muster.dev in integrations.externalFrameworks of its configuration, and give the "
    f"experiment the label {QUEUE_LABEL}"
)
"""Then Kueue leaves pods alone whose controller is an Experiment."""


class Obstacle(msgspec.Struct, frozen=True):
    """What keeps a member from going on."""

    reason: str
    message: str
    patience: float
    """Seconds after which it counts as stuck."""
    pod: str
    """The member that the message names first."""
    begins: float = 0.0
    """The wall second before which it does not count."""
    dated: float = 0.0
    """The wall second since which it has been there, where that is known without having seen it."""


def current(context: Context) -> Obstacle | None:
    """The most definite obstacle of this epoch, where the gang is wanted. Ask ``begins`` whether it counts already."""
    if not context.record.gathering:
        return None
    tally, size = context.tally, context.plan.size  # members that ended in a sequential group are counted, too
    if tally.gated:
        return _queued(context)
    if tally.cut_off:
        return _cut_off(context, tally.cut_off)
    if tally.held:
        found = _idle(context, tally.held, f"{share(tally.started, size)} programs have started")
        return _with_unplaced(context, found, next(iter(tally.unplaced.values()), None))
    if tally.unplaced:
        count = f"{share(tally.scheduled, size)} members have a node"
        found = _idle(context, tally.unplaced, count)
        return replace(found, message=f"{found.message}{avoidance.said(context)}")
    if (kept := tally.outlived) and len(kept) + tally.succeeded >= size:
        return _outlived(context, kept)
    if context.plan.engine is Engine.WATCH and (theirs := _watched(context)):
        return theirs
    if context.record.phase is Phase.PENDING and (slow := _slow_start(context)):
        return slow
    meets = context.plan.coordinator is not None and not context.plan.sequential
    if tally.working and meets and (ended := _ended_early(context)):
        return _ended(context, ended)
    return _unmet(context)


def ends_count_at(context: Context) -> float:
    """The wall second from which it counts that members have ended while others run on."""
    at = context.tally.ended_at
    return (at if at <= context.now else 0.0) + ENDS_TOGETHER  # a kubelet's clock may be ahead


def _ended_early(context: Context) -> int:
    """How many members have ended with 0 although others may need them."""
    return context.tally.succeeded - (context.plan.submitter in context.tally.done)


def _slow_start(context: Context) -> Obstacle | None:
    """Volumes or the network of members are not there, or an init container of theirs has not ended.

    A kubelet tries volumes and network again and again, and says why in Events only; an init container may work for
    hours. Both show in no waiting reason but ContainerCreating and PodInitializing, so they count after a minute.
    """
    scheduled_at, idle = context.record.scheduled_at, context.tally.idle
    if scheduled_at is None:
        return None
    pods = [pod for pod in islice(idle.values(), NAMED) if not pod.terminating]
    unmade = [pod for pod in pods if not pod.sandboxed]
    held = unmade or [pod for pod in pods if pod.holder]
    if not held:
        return None
    cause = Causes.SANDBOX if unmade else Causes.INIT_CONTAINER
    count = f"{share(context.tally.started, context.plan.size)} programs have started"
    who = grouping.as_findings(context, (pod.rank for pod in idle.values()), len(idle))
    begins = scheduled_at + SLOW_AFTER
    return Obstacle(cause.stuck_as, f"{count}; {who}", cause.patience or 0.0, held[0].name, begins)


def _unmet(context: Context) -> Obstacle | None:
    """The program waits for resources that no member has: the gang is complete, and nothing goes on."""
    probe = context.probe
    if probe is None or not probe.answer.unmet or not probe.answer.coordinator.serving:
        return None
    return Obstacle(REQUEST_UNMET, probe.answer.unmet, UNMET_PATIENCE, probe.answer.unmet)


def _watched(context: Context) -> Obstacle | None:
    """What only the controller of a watched run can mend."""
    if context.plan.watching.unrun and not context.tally.pods:
        what = f"nothing runs {context.plan.subject.kind}s here; {context.plan.watching.unrun}"
        return Obstacle(of_watched.PODS_MISSING, what, 0.0, what)
    since = {uid: of_watched.counts_from(context, pod) for uid, pod in context.tally.failed.items()}
    if since:
        uid = min(since, key=lambda uid: since[uid])
        name, what = context.tally.failed[uid].name, of_watched.failed(context)
        return Obstacle(of_watched.MEMBER_FAILED, what, of_watched.PATIENCE, name, since[uid])
    if found := unsaid(context):
        return Obstacle(found.reason, found.message, found.patience, found.message, found.begins)
    if not (what := of_watched.missing(context)):
        return None
    message = "; ".join(filter(None, (what, of_watched.why_missing(context))))
    return Obstacle(of_watched.PODS_MISSING, message, of_watched.PATIENCE, what, dated=of_watched.never_made(context))


def called_stuck(record: Record, obstacle: Blocked) -> bool:
    """The record calls the gang stuck for that obstacle."""
    stuck = record.condition(ConditionType.STUCK)
    return stuck is not None and bool(stuck.status) and stuck.reason == obstacle.reason


def _idle(context: Context, pods: Mapping[str, Pod], count: str) -> Obstacle:
    """Members that do not start, by cause. Of many it names the first until they are Stuck: till then they change."""
    pod = next(iter(pods.values()))
    reason = pod.waiting_reason
    blocked = context.record.blocked
    if len(pods) <= EXACT or (blocked is not None and called_stuck(context.record, blocked)):
        who = grouping.named(context, (each.rank for each in pods.values()), len(pods))
    else:
        who = f"rank {pod.rank} ({placed(context, pod.rank, pod.name)}, {why_idle(pod)}) and more"
    return Obstacle(reason, f"{count}; {who}", patience_of(pod), pod.name)


def patience_of(pod: Pod) -> float:
    """Seconds after which a member that waits like this is called Stuck, by the row of its cause."""
    return table.patience(shown(pod, done=False))


def _with_unplaced(context: Context, obstacle: Obstacle, pod: Pod | None) -> Obstacle:
    """The obstacle's sentence with a member that has another one."""
    if pod is None:
        return obstacle
    who = f"rank {pod.rank} ({placed(context, pod.rank, pod.name)}, {why_idle(pod)})"
    return replace(obstacle, message=f"{obstacle.message}; {who}")


def _queued(context: Context) -> Obstacle:
    tally, size = context.tally, context.plan.together
    pod = next(iter(tally.gated.values()))
    gates = f"gated by {pod.waiting_message} (SchedulingGated)" if pod.waiting_message else "SchedulingGated"
    count = f"queued: {len(tally.gated)}/{size} pods are {gates}"
    if KUEUE_GATE in pod.waiting_message:
        count += f"; a default queue of Kueue has taken single pods: {CURE}"
        if context.plan.queue is not None:
            return Obstacle(QUEUED_TWICE, count, QUEUE_PATIENCE, pod.name)
    running = tally.working - len(tally.idle)  # members that have ended, as in a sequential group, are not half a gang
    if not running:
        return Obstacle(QUEUED, count, patience_of(pod), pod.name)
    sentence = f"{count} while {running} run; first: rank {pod.rank} ({placed(context, pod.rank, pod.name)})"
    return Obstacle(PARTLY_QUEUED, sentence, QUEUE_PATIENCE, pod.name, context.record.assembling_at or context.now)


def _cut_off(context: Context, pods: Mapping[str, Pod]) -> Obstacle:
    who = grouping.as_findings(context, (pod.rank for pod in pods.values()), len(pods))
    return Obstacle(NODE_NOT_READY, who, patience_of(pod := next(iter(pods.values()))), pod.name)


def _outlived(context: Context, pods: Mapping[str, Pod]) -> Obstacle:
    """All programs have ended with 0, and another container keeps some of the pods."""
    first = min(pods.values(), key=lambda pod: pod.rank)
    more = f", and {len(pods) - 1} more" if len(pods) > 1 else ""
    size = context.plan.size
    done = "the program has" if size == 1 else f"all {size} programs have"
    which = f"container {first.outlived_by} of rank {first.rank} ({placed(context, first.rank, first.name)}){more}"
    runs = "run on and keep their pods" if more else "runs on and keeps its pod"
    sentence = f"{done} ended with exit code 0, but {which} {runs}; {NATIVE}"
    return Obstacle(CONTAINER_RUNS_ON, sentence, OUTLIVED_PATIENCE, first.name)


def _ended(context: Context, count: int) -> Obstacle:
    tally, coordinator = context.tally, context.plan.coordinator
    ended = list(islice((rank for rank in tally.done if rank != context.plan.submitter), NAMED))
    named = _ranks(sorted(ended)) + (" and others" if count > len(ended) else "")
    meeting = coordinator and coordinator.rank in tally.done
    which = f"{named}, among them the coordinator" if meeting and len(ended) > 1 else named
    which = f"{named}, the coordinator" if meeting and len(ended) == 1 else which
    if context.plan.size > EXACT:
        which = ", among them the coordinator," if meeting else ""
        sentence = f"{share(count, context.plan.size)} members ended with exit code 0{which} while others run on"
    else:
        members = "1 member" if count == 1 else f"{count} members"
        sentence = f"{members} ended with exit code 0 ({which}) while {tally.working} run on"
    pod = tally.members.get(ended[0]) if ended else None
    first, counts_at, standing = pod.name if pod else "", ends_count_at(context), context.record.blocked
    if standing and standing.reason == RANKS_ENDED:  # another end begins the patience anew, not the obstacle
        put_off = min(max(0.0, counts_at - standing.since), ENDS_FOR)
        patience = ENDED_PATIENCE if called_stuck(context.record, standing) else ENDED_PATIENCE + put_off
        return Obstacle(RANKS_ENDED, sentence, patience, first)
    return Obstacle(RANKS_ENDED, sentence, ENDED_PATIENCE, first, counts_at)


def _ranks(ranks: list[int]) -> str:
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {', '.join(map(str, ranks))}"
