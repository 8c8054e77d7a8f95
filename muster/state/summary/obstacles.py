"""Sentences on obstacles, which keep a member from starting or working (``gathering.obstacles``).

Those of a watched run are problems that its own controller does not fix (``watched.obstacles``).
"""

from collections.abc import Callable, Mapping
from typing import Final

from muster.api.names import QUEUE_LABEL
from muster.api.values.durations import count_of, often
from muster.api.values.rank_ranges import of_ranks
from muster.state.facts import gates
from muster.state.facts.context import Context
from muster.state.facts.diagnosis import diagnose
from muster.state.facts.obstacle import Kind, Obstacle
from muster.state.facts.sentences import (
    EXACT,
    NAMED_RANGES,
    all_succeeded,
    how_ended,
    placed,
    quoted,
    sentence,
    share,
    waits,
    why_idle,
)
from muster.state.policies.failures.restart_reasons import avoided
from muster.state.policies.gathering import obstacles
from muster.state.policies.watched import obstacles as of_watched
from muster.state.vocabulary.pod import Pod

AGAIN: Final = 3
"""Members that were started again and that a sentence names."""


def failed(context: Context) -> str:
    """Return the sentence on members that have failed; empty without any."""
    if not context.tally.failed:
        return ""
    cause = context.record.cause
    which = sentence(cause) if cause is not None and cause.epoch == context.record.epoch else "a member failed"
    others = len(context.tally.failed) - 1
    return f"{which}{f', and {others} more' if others > 0 else ''}"


def without_pods(context: Context) -> str:
    """Return the sentence on members without a pod, with the reason of their controller; empty if all have one."""
    if not of_watched.without_pod(context):
        return ""
    return "; ".join(filter(None, (_how_many(context), _why_absent(context))))


def _how_many(context: Context) -> str:
    plan, tally = context.plan, context.tally
    if plan.sequential:
        return f"{share(tally.working, tally.working + of_watched.without_pod(context))} pods of this turn exist"
    message = f"{share(tally.pods, plan.size)} pods exist"
    if plan.size > EXACT:
        return message
    without = (rank for rank in range(plan.size) if rank not in tally.members and rank not in tally.collected)
    named = [rank for rank in without if not gates.awaits_leader(context, rank)]
    group = plan.group_of(named[0]) if named else None
    place = plan.place(named[0]) if group is not None and group.named else ""
    first = f" ({'first: ' if len(named) > 1 else ''}{place})" if place else ""
    return f"{message}; {of_ranks(named, NAMED_RANGES)}{first} {'has' if len(named) == 1 else 'have'} no pod"


def _why_absent(context: Context) -> str:
    """Return the last reason that a controller gave for pods that it does not make, as a quotation with its age."""
    own, event = context.view.own, context.view.remark
    event = None if event is not None and event.about.startswith("Pod ") else event  # it was about a pod that exists
    found = [each for each in (event, own.remark if own is not None else None) if each is not None]
    if found:
        return quoted(max(found, key=lambda each: each.at), context.now)
    return context.view.remark_problem


def _all_done(context: Context, _: Obstacle) -> str:
    done, kind = all_succeeded(context.plan.size), context.plan.subject.kind
    return f"{done}; the status of the {kind} does not show it, so its controller may not run"


def _program_done(context: Context, _: Obstacle) -> str:
    work, own = context.probe.answer.work if context.probe is not None else None, context.view.own
    word = own.word if own is not None else ""
    return f"{work.sentence if work else ''}; the {context.plan.subject.kind} still reports {word or 'nothing'}"


def _reported(context: Context, _: Obstacle) -> str:
    own = context.view.own
    what = ": ".join(filter(None, (own.reason, own.message))) if own is not None else ""
    return f"the {context.plan.subject.kind} reports {what}"


def _coordinator_gone(context: Context, _: Obstacle) -> str:
    rank = context.plan.coordinator.rank if context.plan.coordinator is not None else 0
    pod = context.tally.members.get(rank)
    if pod is None:
        return f"the coordinator, rank {rank}, has no pod"
    why = "is not ready, and does not answer"
    if pod.terminating:
        why = "is being deleted"
    elif not pod.started:
        why = f"does not run yet, {why_idle(pod)}"
    again = f": {_again(pod)}" if pod.restarts and not pod.ready else ""
    return f"the coordinator, rank {rank} ({pod.name}), {why}{again}"


def _restarted(context: Context, _: Obstacle) -> str:
    found = of_watched.restarted(context)
    named = "; ".join(f"rank {pod.rank} ({pod.name}): {_again(pod)}" for pod in found[:AGAIN])
    return f"{named}; and {len(found) - AGAIN} more" if len(found) > AGAIN else named


def _again(pod: Pod) -> str:
    now = pod.waiting_reason or "not ready yet"
    ended = f"{how_ended(pod.last_exit)}, " if pod.last_exit else ""
    return f"{ended}started again in its pod {often(pod.restarts)}, {now}"


NATIVE: Final = "make it an init container with restartPolicy Always, which ends with the program"
CURE: Final = (
    "list Experiment.v1alpha1.muster.dev in integrations.externalFrameworks of its configuration, and give the "
    f"experiment the label {QUEUE_LABEL}"
)
"""The setting with which Kueue leaves pods alone whose controller is an Experiment."""


def obstacle_sentence(context: Context, obstacle: Obstacle) -> str:
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
    if len(pods) <= EXACT or (blocked is not None and obstacles.called_stuck(context.record, blocked)):
        return diagnose.listed(context, (each.rank for each in pods.values()), len(pods)).sentence
    return f"{waits(context, next(iter(pods.values())))} and more"


def _started(context: Context) -> str:
    return f"{share(context.tally.started, context.plan.size)} programs have started"


def _gated(context: Context, obstacle: Obstacle) -> str:
    tally, size = context.tally, context.plan.together
    pod = next(iter(tally.gated.values()))
    gates = f"gated by {pod.waiting_message} (SchedulingGated)" if pod.waiting_message else "SchedulingGated"
    count = f"queued: {len(tally.gated)}/{size} {'pod is' if size == 1 else 'pods are'} {gates}"
    if obstacles.KUEUE_GATE in pod.waiting_message:
        count += f"; a default queue of Kueue has taken single pods: {CURE}"
    if obstacle.reason != obstacles.PARTLY_QUEUED:
        return count
    first, running = f"rank {pod.rank} ({placed(context, pod.rank, pod.name)})", obstacles.running_beside(context)
    return f"{count} while {running} {'runs' if running == 1 else 'run'}; first: {first}"


def _cut_off(context: Context, _: Obstacle) -> str:
    pods = context.tally.cut_off
    return diagnose.as_findings(context, (pod.rank for pod in pods.values()), len(pods)).sentence


def _slow(context: Context, _: Obstacle) -> str:
    idle = context.tally.idle
    waiting = diagnose.as_findings(context, (pod.rank for pod in idle.values()), len(idle))
    return f"{_started(context)}; {waiting.sentence}"


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
    some, count = obstacles.ended(context), obstacles.ended_early(context)
    meeting = coordinator is not None and coordinator.rank in tally.done
    if size > EXACT:
        which = ", among them the coordinator," if meeting else ""
        return f"{share(count, size)} members ended with exit code 0{which} while others run on"
    which = of_ranks(sorted(some))
    which += " and others" if count > len(some) else ""
    if meeting:
        which += ", the coordinator" if len(some) == 1 else ", among them the coordinator"
    others = f"{tally.working} {'runs' if tally.working == 1 else 'run'} on"
    return f"{count_of(count, 'member')} ended with exit code 0 ({which}) while {others}"


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
    Kind.FAILED: lambda context, _: failed(context),
    Kind.WITHOUT_POD: lambda context, _: without_pods(context),
    Kind.GONE: _coordinator_gone,
    Kind.REPORTED: _reported,
    Kind.RESTARTED: _restarted,
    Kind.ALL_DONE: _all_done,
    Kind.PROGRAM_DONE: _program_done,
}
