"""What keeps a watched run from going on that its own controller does not mend: failed members, and pods not made.

Muster can neither restart nor create anything there. So both are said at once, and called Stuck when the controller has
had the time in which it would have acted.
"""

from itertools import islice
from typing import Final

from muster.api.values.rank_ranges import to_ranges
from muster.state.facts import gates
from muster.state.facts.context import Context
from muster.state.facts.failure_cause import was_deleted
from muster.state.facts.sentences import EXACT, NAMED_RANGES, quoted, sentence, share
from muster.state.view.own.own_state import Said
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Phase

MEMBER_FAILED: Final = "MemberFailed"
PODS_MISSING: Final = "PodsMissing"
PATIENCE: Final = 60.0
"""Seconds: a Job waits 10 s before its first new pod, and JobSet until all pods of a failed Job have ended."""
SAID_WITHIN: Final = 5.0
"""Seconds within which the object says why its controller deletes pods: its watch may bring that after theirs."""
NAMED: Final = 8
"""Ranks that a sentence names."""


def counts_from(context: Context, pod: Pod) -> float:
    """The wall second from which a member's end is one; 0 where that needs no waiting.

    A pod that was deleted may go with a scale-down, a suspension, a restart or the end of its object. Labelled pods
    have no object that could say so.
    """
    own, at = context.view.own, pod.stopped_at or (pod.exit.finished_at if pod.exit else 0.0)
    if pod.disruption or not was_deleted(pod) or (own is not None and own.said is Said.ASK_PODS):
        return 0.0
    return at + SAID_WITHIN if 0.0 < at <= context.now else 0.0  # not by a clock that is ahead


def failed(context: Context) -> str:
    """What is said of members that have failed; empty without any."""
    if not context.tally.failed:
        return ""
    cause = context.record.cause
    which = sentence(cause) if cause is not None and cause.epoch == context.record.epoch else "a member failed"
    others = len(context.tally.failed) - 1
    return f"{which}{f', and {others} more' if others > 0 else ''}"


def missing(context: Context) -> str:
    """What is said of members that have no pod; empty where all have one, or wait for their turn."""
    plan, tally = context.plan, context.tally
    absent = plan.size - tally.pods - gates.held_back(context)
    if absent <= 0:
        return ""
    if plan.sequential:
        return f"{share(tally.working, tally.working + absent)} pods of this turn exist"
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


def never_made(context: Context) -> float:
    """Since when no pod has been made of a run that is looked at for the first time; 0 where some may have been.

    A daemon that takes over has not seen how long that lasts, but the object says when its controller was to begin.
    """
    record, tally = context.record, context.tally
    new = record.phase is Phase.PENDING and record.phase_at == context.now and not record.epoch
    return record.started_at or 0.0 if new and not tally.pods and not tally.collected else 0.0


def why_missing(context: Context) -> str:
    """The last reason that a controller gave for pods that it does not make, as a quotation with its age."""
    own, event = context.view.own, context.view.remark
    event = None if event is not None and event.about.startswith("Pod ") else event  # it was about a pod that is there
    found = [each for each in (event, own.remark if own is not None else None) if each is not None]
    if found:
        return quoted(max(found, key=lambda each: each.at), context.now)
    return context.view.remark_problem
