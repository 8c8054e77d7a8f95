"""Obstacles of a watched run that its own controller does not remove, or does not report.

Muster can neither restart nor create anything there. So each is reported at once (a false status after
``FOLLOWED_WITHIN`` seconds), and called Stuck when it lasts longer than a controller takes:

- A member has failed, or pods are not made.
- The coordinator served, and its pod is gone, going, or new: what had joined it has to join again.
- A container was started again in its pod, and the member is not ready since.
- The controller reports a failure and has drawn no conclusion yet.
- The coordinator reports that the program has ended, and the controller does not follow. It asks every few seconds and
  may wait for a submitter; longer than that it never does.
- All members have succeeded, and the object does not show it: its controller is away.
"""

from itertools import islice
from typing import Final

from muster.state.facts import gates
from muster.state.facts.causes.table import Causes
from muster.state.facts.context import Context
from muster.state.facts.failure_cause import was_deleted
from muster.state.facts.obstacle import Kind, Obstacle
from muster.state.view.own import OwnVerdict
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Phase

MEMBER_FAILED: Final = "MemberFailed"
PODS_MISSING: Final = "PodsMissing"
PATIENCE: Final = 60.0
"""Seconds: a Job waits 10 s before its first new pod, and JobSet until all pods of a failed Job have ended."""
REPORTED_WITHIN: Final = 5.0
"""Seconds within which the object gives the reason for deleted pods: its watch may bring that after theirs."""


def counts_from(context: Context, pod: Pod) -> float:
    """Return the wall second from which a member's end is an obstacle; 0 if that needs no waiting.

    A pod that was deleted may go with a scale-down, a suspension, a restart or the end of its object. Labelled pods
    have no object that could show that.
    """
    own, at = context.view.own, pod.stopped_at or (pod.exit.finished_at if pod.exit else 0.0)
    if pod.disruption or not was_deleted(pod) or (own is not None and own.verdict is OwnVerdict.ASK_PODS):
        return 0.0
    return at + REPORTED_WITHIN if 0.0 < at <= context.now else 0.0  # not by a clock that is ahead


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


COORDINATOR_GONE: Final = "CoordinatorGone"
RESTARTED_IN_PLACE: Final = Causes.RESTARTED_IN_PLACE.stuck_as
FAILURE_REPORTED: Final = "FailureReported"
STATUS_IS_FALSE: Final = "StatusIsFalse"
REPLACED_WITHIN: Final = 60.0
"""Seconds: a controller makes a pod within milliseconds, and its image is mostly there."""
FOLLOWED_WITHIN: Final = 10.0
"""Seconds: KubeRay follows Ray's report within 3 s, or when the submitter has noticed, 6 s (measured)."""
FALSE_AFTER: Final = 20.0
"""Seconds after these, in which even a controller that is behind follows."""
LOOKED_AT: Final = 64
"""Most members with restarts that are looked at."""


def unsaid(context: Context) -> Obstacle | None:
    """Return the most definite of the obstacles that the controller does not report, or reports wrongly."""
    found = _all_done(context) or _coordinator_gone(context) or _reported(context)
    return found or _ended(context) or _restarted(context)


def _coordinator_gone(context: Context) -> Obstacle | None:
    coordinator, probe = context.plan.asked, context.probe
    if coordinator is None or probe is None or not probe.served or probe.leaving:
        return None
    if coordinator.rank in context.tally.done:
        return None
    pod = context.tally.members.get(coordinator.rank)
    away = pod is None or pod.terminating or not pod.started or not (probe.serving or pod.ready)
    return Obstacle(Kind.GONE, COORDINATOR_GONE, REPLACED_WITHIN) if away else None


def _all_done(context: Context) -> Obstacle | None:
    """Return the obstacle if every member has succeeded, by its pod."""
    own, tally, size = context.view.own, context.tally, context.plan.size
    if own is None or own.verdict is not OwnVerdict.NOTHING or own.reason or not 0 < size <= tally.succeeded:
        return None
    at = tally.ended_at if tally.ended_at <= context.now else 0.0  # a kubelet whose clock is ahead
    return Obstacle(Kind.ALL_DONE, STATUS_IS_FALSE, FALSE_AFTER, begins=at + FOLLOWED_WITHIN)


def _ended(context: Context) -> Obstacle | None:
    """Return the obstacle if the program has ended, by the coordinator's report."""
    probe, own = context.probe, context.view.own
    work = probe.answer.work if probe is not None else None
    if probe is None or work is None or not work.ended or own is None or own.verdict is not OwnVerdict.NOTHING:
        return None
    return Obstacle(Kind.PROGRAM_DONE, STATUS_IS_FALSE, FALSE_AFTER, begins=probe.since + FOLLOWED_WITHIN)


def _reported(context: Context) -> Obstacle | None:
    own = context.view.own
    if own is None or own.verdict is not OwnVerdict.NOTHING or not own.reason:
        return None
    return Obstacle(Kind.REPORTED, FAILURE_REPORTED, REPLACED_WITHIN)


def _restarted(context: Context) -> Obstacle | None:
    patience = Causes.RESTARTED_IN_PLACE.patience or 0.0
    return Obstacle(Kind.RESTARTED, RESTARTED_IN_PLACE, patience) if restarted(context) else None


def restarted(context: Context) -> list[Pod]:
    """Return the members that were started again in their pods and are not ready, by rank."""
    looked_at = islice(context.tally.restarted.values(), LOOKED_AT)
    return sorted((pod for pod in looked_at if not pod.ready and not pod.terminating), key=lambda pod: pod.rank)
