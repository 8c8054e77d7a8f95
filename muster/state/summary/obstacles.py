"""Sentences on an obstacle, which keeps a member from starting or working (``gathering.obstacles``)."""

from collections.abc import Callable, Mapping
from typing import Final

from muster.api.names import QUEUE_LABEL
from muster.state.facts.context import Context
from muster.state.facts.diagnosis import grouping
from muster.state.facts.obstacle import Kind, Obstacle
from muster.state.facts.sentences import EXACT, placed, share, waits
from muster.state.policies.failures.avoidance import avoided
from muster.state.policies.gathering.obstacles import (
    KUEUE_GATE,
    PARTLY_QUEUED,
    called_stuck,
    ended,
    ended_early,
    running_beside,
)
from muster.state.summary import watched
from muster.state.vocabulary.pod import Pod

NATIVE: Final = "make it an init container with restartPolicy Always, which ends with the program"
CURE: Final = (
    "list Experiment.v1alpha1.muster.dev in integrations.externalFrameworks of its configuration, and give the "
    f"experiment the label {QUEUE_LABEL}"
)
"""The setting with which Kueue leaves pods alone whose controller is an Experiment."""


def sentence(context: Context, obstacle: Obstacle) -> str:
    """Return the obstacle and its member, in words."""
    return _SENTENCES[obstacle.kind](context, obstacle)


def _held(context: Context, _: Obstacle) -> str:
    tally = context.tally
    found = f"{_started(context)}; {_idle(context, tally.held)}"
    pod = next(iter(tally.unplaced.values()), None)
    return found if pod is None else f"{found}; {waits(context, pod)}"


def _unplaced(context: Context, _: Obstacle) -> str:
    count = f"{share(context.tally.scheduled, context.plan.size)} members have a node"
    names = ", ".join(avoided(context.record))
    more = f"; nodes that are avoided after failures: {names}" if names else ""
    return f"{count}; {_idle(context, context.tally.unplaced)}{more}"


def _idle(context: Context, pods: Mapping[str, Pod]) -> str:
    """Return members that do not start, by cause; only the first of many until they are Stuck: they change before."""
    blocked = context.record.blocked
    if len(pods) <= EXACT or (blocked is not None and called_stuck(context.record, blocked)):
        return grouping.named(context, (each.rank for each in pods.values()), len(pods))
    return f"{waits(context, next(iter(pods.values())))} and more"


def _started(context: Context) -> str:
    return f"{share(context.tally.started, context.plan.size)} programs have started"


def _gated(context: Context, obstacle: Obstacle) -> str:
    tally, size = context.tally, context.plan.together
    pod = next(iter(tally.gated.values()))
    gates = f"gated by {pod.waiting_message} (SchedulingGated)" if pod.waiting_message else "SchedulingGated"
    count = f"queued: {len(tally.gated)}/{size} pods are {gates}"
    if KUEUE_GATE in pod.waiting_message:
        count += f"; a default queue of Kueue has taken single pods: {CURE}"
    if obstacle.reason != PARTLY_QUEUED:
        return count
    first = f"rank {pod.rank} ({placed(context, pod.rank, pod.name)})"
    return f"{count} while {running_beside(context)} run; first: {first}"


def _cut_off(context: Context, _: Obstacle) -> str:
    pods = context.tally.cut_off
    return grouping.as_findings(context, (pod.rank for pod in pods.values()), len(pods))


def _slow(context: Context, _: Obstacle) -> str:
    idle = context.tally.idle
    return f"{_started(context)}; {grouping.as_findings(context, (pod.rank for pod in idle.values()), len(idle))}"


def _outlived(context: Context, _: Obstacle) -> str:
    pods, size = context.tally.outlived, context.plan.size
    first = min(pods.values(), key=lambda pod: pod.rank)
    more = f", and {len(pods) - 1} more" if len(pods) > 1 else ""
    done = "the program has" if size == 1 else f"all {size} programs have"
    which = f"container {first.outlived_by} of rank {first.rank} ({placed(context, first.rank, first.name)}){more}"
    runs = "run on and keep their pods" if more else "runs on and keeps its pod"
    return f"{done} ended with exit code 0, but {which} {runs}; {NATIVE}"


def _ended(context: Context, _: Obstacle) -> str:
    tally, coordinator, size = context.tally, context.plan.coordinator, context.plan.size
    some, count = ended(context), ended_early(context)
    meeting = coordinator is not None and coordinator.rank in tally.done
    if size > EXACT:
        which = ", among them the coordinator," if meeting else ""
        return f"{share(count, size)} members ended with exit code 0{which} while others run on"
    which = f"{'rank' if len(some) == 1 else 'ranks'} {', '.join(map(str, sorted(some)))}"
    which += " and others" if count > len(some) else ""
    if meeting:
        which += ", the coordinator" if len(some) == 1 else ", among them the coordinator"
    members = "1 member" if count == 1 else f"{count} members"
    return f"{members} ended with exit code 0 ({which}) while {tally.working} run on"


_SENTENCES: Final[Mapping[Kind, Callable[[Context, Obstacle], str]]] = {
    Kind.GATED: _gated,
    Kind.CUT_OFF: _cut_off,
    Kind.HELD: _held,
    Kind.UNPLACED: _unplaced,
    Kind.SLOW: _slow,
    Kind.OUTLIVED: _outlived,
    Kind.ENDED: _ended,
    Kind.UNMET: lambda context, _: context.probe.answer.unmet if context.probe is not None else "",
    Kind.UNRUN: lambda context, _: f"nothing runs {context.plan.subject.kind}s here; {context.plan.watching.unrun}",
    Kind.FAILED: lambda context, _: watched.failed(context),
    Kind.WITHOUT_POD: lambda context, _: watched.without_pods(context),
    Kind.GONE: lambda context, _: watched.coordinator_gone(context),
    Kind.REPORTED: lambda context, _: watched.reported(context),
    Kind.RESTARTED: lambda context, _: watched.restarted(context),
    Kind.ALL_DONE: lambda context, _: watched.all_done(context),
    Kind.PROGRAM_DONE: lambda context, _: watched.program_done(context),
}
