"""Obstacles of a watched run that its own controller does not remove: failed members, and pods not made.

Muster can neither restart nor create anything there. So both are reported at once, and called Stuck when the controller
has had the time to act.
"""

from typing import Final

from muster.state.facts import gates
from muster.state.facts.context import Context
from muster.state.facts.failure_cause import was_deleted
from muster.state.view.own.own_state import Said
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Phase

MEMBER_FAILED: Final = "MemberFailed"
PODS_MISSING: Final = "PodsMissing"
PATIENCE: Final = 60.0
"""Seconds: a Job waits 10 s before its first new pod, and JobSet until all pods of a failed Job have ended."""
SAID_WITHIN: Final = 5.0
"""Seconds within which the object gives the reason for deleted pods: its watch may bring that after theirs."""


def counts_from(context: Context, pod: Pod) -> float:
    """Return the wall second from which a member's end is an obstacle; 0 if that needs no waiting.

    A pod that was deleted may go with a scale-down, a suspension, a restart or the end of its object. Labelled pods
    have no object that could show that.
    """
    own, at = context.view.own, pod.stopped_at or (pod.exit.finished_at if pod.exit else 0.0)
    if pod.disruption or not was_deleted(pod) or (own is not None and own.said is Said.ASK_PODS):
        return 0.0
    return at + SAID_WITHIN if 0.0 < at <= context.now else 0.0  # not by a clock that is ahead


def without_pod(context: Context) -> int:
    """Return the number of members that have no pod, without those that wait for their turn."""
    plan = context.plan
    return max(0, plan.size - context.tally.pods - gates.held_back(context))


def never_made(context: Context) -> float:
    """Return since when no pod was made of a run that is seen for the first time; 0 if some may have been.

    A daemon that takes over has not seen how long that lasts, but the object has the time at which its controller was
    to begin.
    """
    record, tally = context.record, context.tally
    new = record.phase is Phase.PENDING and record.phase_at == context.now and not record.epoch
    return record.started_at or 0.0 if new and not tally.pods and not tally.collected else 0.0
