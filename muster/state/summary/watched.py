"""Sentences on a watched run with a problem that its own controller does not fix."""

from itertools import islice
from typing import Final

from muster.api.values.humanize import often
from muster.api.values.rank_ranges import to_ranges
from muster.state.facts import gates
from muster.state.facts.context import Context
from muster.state.facts.sentences import (
    EXACT,
    NAMED_RANGES,
    all_succeeded,
    how_ended,
    quoted,
    sentence,
    share,
    why_idle,
)
from muster.state.policies.watched import obstacles, stale_status
from muster.state.vocabulary.pod import Pod

NAMED: Final = 8
"""Ranks without a pod that a sentence names."""
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
    if not obstacles.without_pod(context):
        return ""
    return "; ".join(filter(None, (_how_many(context), _why_absent(context))))


def _how_many(context: Context) -> str:
    plan, tally = context.plan, context.tally
    if plan.sequential:
        return f"{share(tally.working, tally.working + obstacles.without_pod(context))} pods of this turn exist"
    message = f"{share(tally.pods, plan.size)} pods exist"
    if plan.size > EXACT:
        return message
    without = (rank for rank in range(plan.size) if rank not in tally.members and rank not in tally.collected)
    ranks = (rank for rank in without if not gates.awaits_leader(context, rank))
    named = list(islice(ranks, NAMED))
    who, have = ("rank", "has") if len(named) == 1 else ("ranks", "have")
    group = plan.group_of(named[0]) if named else None
    place = plan.place(named[0]) if group is not None and group.named else ""
    first = f" ({'first: ' if len(named) > 1 else ''}{place})" if place else ""
    return f"{message}; {who} {to_ranges(named, NAMED_RANGES)}{first} {have} no pod"


def _why_absent(context: Context) -> str:
    """Return the last reason that a controller gave for pods that it does not make, as a quotation with its age."""
    own, event = context.view.own, context.view.remark
    event = None if event is not None and event.about.startswith("Pod ") else event  # it was about a pod that exists
    found = [each for each in (event, own.remark if own is not None else None) if each is not None]
    if found:
        return quoted(max(found, key=lambda each: each.at), context.now)
    return context.view.remark_problem


def all_done(context: Context) -> str:
    """Return the sentence for members that all have succeeded, while the object does not show it."""
    done, kind = all_succeeded(context.plan.size), context.plan.subject.kind
    return f"{done}; the status of the {kind} does not show it, so its controller may not run"


def program_done(context: Context) -> str:
    """Return the sentence for a program that has ended by its coordinator, while the object does not show it."""
    work, own = context.probe.answer.work if context.probe is not None else None, context.view.own
    word = own.word if own is not None else ""
    return f"{work.sentence if work else ''}; the {context.plan.subject.kind} still reports {word or 'nothing'}"


def reported(context: Context) -> str:
    """Return the sentence for a failure that the controller reports, without a conclusion."""
    own = context.view.own
    what = ": ".join(filter(None, (own.reason, own.message))) if own is not None else ""
    return f"the {context.plan.subject.kind} reports {what}"


def coordinator_gone(context: Context) -> str:
    """Return the sentence for a coordinator that served, and whose pod is gone, going, or new."""
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


def restarted(context: Context) -> str:
    """Return the sentence for containers started again in their pods whose members are not ready since."""
    found = stale_status.restarted(context)
    named = "; ".join(f"rank {pod.rank} ({pod.name}): {_again(pod)}" for pod in found[:AGAIN])
    return f"{named}; and {len(found) - AGAIN} more" if len(found) > AGAIN else named


def _again(pod: Pod) -> str:
    now = pod.waiting_reason or "not ready yet"
    ended = f"{how_ended(pod.last_exit)}, " if pod.last_exit else ""
    return f"{ended}started again in its pod {often(pod.restarts)}, {now}"
