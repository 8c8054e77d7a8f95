"""What the controller of a watched run does not say, or says wrongly, while it goes on.

- The coordinator served, and its pod is gone, going, or new: what had joined it has to join anew.
- A container was started again in its pod, and the member is not ready since.
- The controller reports a failure and has drawn no conclusion yet.
- The coordinator says that the program has ended, and the controller does not follow. It asks every few seconds and
  may wait for a submitter; longer than that it never does.
- All members have succeeded, and the object does not say so: its controller is away.

Each is said at once, and called Stuck when it lasts longer than a controller takes.
"""

from itertools import islice
from typing import Final, NamedTuple

from muster.state.facts.causes.table import Causes
from muster.state.facts.context import Context
from muster.state.facts.sentences import all_succeeded, how_ended, often, why_idle
from muster.state.view.own.own_state import Said
from muster.state.vocabulary.pod import Pod

COORDINATOR_GONE: Final = "CoordinatorGone"
RESTARTED_IN_PLACE: Final = Causes.RESTARTED_IN_PLACE.stuck_as
FAILURE_REPORTED: Final = "FailureReported"
STATUS_IS_FALSE: Final = "StatusIsFalse"
REPLACED_WITHIN: Final = 60.0
"""Seconds: a controller makes a pod within milliseconds, and its image is mostly there."""
FOLLOWED_WITHIN: Final = 10.0
"""Seconds: KubeRay follows Ray's word within 3 s, or when the submitter has noticed, 6 s (measured)."""
FALSE_AFTER: Final = 20.0
"""Seconds after these, in which even a controller that is behind follows."""
LOOKED_AT: Final = 64
"""Members with restarts that are looked at."""
NAMED: Final = 3


class Unsaid(NamedTuple):
    """Reason, message, and the seconds after which it counts as stuck."""

    reason: str
    message: str
    patience: float
    begins: float = 0.0
    """The wall second before which it is not said."""


def unsaid(context: Context) -> Unsaid | None:
    """The most definite of these."""
    found = _all_done(context) or _coordinator_gone(context) or _reported(context)
    return found or _ended(context) or _restarted(context)


def _coordinator_gone(context: Context) -> Unsaid | None:
    coordinator, probe = context.plan.asked, context.probe
    if coordinator is None or probe is None or not probe.served or probe.leaving:
        return None
    if coordinator.rank in context.tally.done:
        return None
    pod = context.tally.members.get(coordinator.rank)
    if pod is None:
        why = "has no pod"
    elif pod.terminating:
        why = "is being deleted"
    elif not pod.started:
        why = f"does not run yet, {why_idle(pod)}"
    elif probe.serving or pod.ready:
        return None
    else:
        why = "is not ready, and does not answer"
    name = f" ({pod.name})" if pod is not None else ""
    message = f"the coordinator, rank {coordinator.rank}{name}, {why}"
    if (own := _again(pod)) if pod is not None and pod.restarts and not pod.ready else "":
        message += f": {own}"
    return Unsaid(COORDINATOR_GONE, message, REPLACED_WITHIN)


def _all_done(context: Context) -> Unsaid | None:
    """Every member has succeeded, by its pod."""
    own, tally, size = context.view.own, context.tally, context.plan.size
    if own is None or own.said is not Said.NOTHING or own.reason or not 0 < size <= tally.succeeded:
        return None
    kind = context.plan.subject.kind
    message = f"{all_succeeded(size)}; the {kind} does not say so, as if its controller did not run"
    at = tally.ended_at if tally.ended_at <= context.now else 0.0  # a kubelet whose clock is ahead
    return Unsaid(STATUS_IS_FALSE, message, FALSE_AFTER, begins=at + FOLLOWED_WITHIN)


def _ended(context: Context) -> Unsaid | None:
    """The program has ended, by the coordinator's word."""
    probe, own = context.probe, context.view.own
    work = probe.answer.work if probe is not None else None
    if probe is None or work is None or not work.ended or own is None or own.said is not Said.NOTHING:
        return None
    message = f"{work.sentence}; the {context.plan.subject.kind} still says {own.word or 'nothing of it'}"
    return Unsaid(STATUS_IS_FALSE, message, FALSE_AFTER, begins=probe.since + FOLLOWED_WITHIN)


def _reported(context: Context) -> Unsaid | None:
    own = context.view.own
    if own is None or own.said is not Said.NOTHING or not own.reason:
        return None
    what = f"{own.reason}: {own.message}" if own.message else own.reason
    return Unsaid(FAILURE_REPORTED, f"the {context.plan.subject.kind} says {what}", REPLACED_WITHIN)


def _restarted(context: Context) -> Unsaid | None:
    looked_at = islice(context.tally.restarted.values(), LOOKED_AT)
    found = sorted((pod for pod in looked_at if not pod.ready and not pod.terminating), key=lambda pod: pod.rank)
    if not found:
        return None
    named = "; ".join(f"rank {pod.rank} ({pod.name}): {_again(pod)}" for pod in found[:NAMED])
    more = f"; and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return Unsaid(RESTARTED_IN_PLACE, f"{named}{more}", Causes.RESTARTED_IN_PLACE.patience or 0.0)


def _again(pod: Pod) -> str:
    now = pod.waiting_reason or "not ready yet"
    ended = f"{how_ended(pod.last_exit)}, " if pod.last_exit else ""
    return f"{ended}started again in its pod {often(pod.restarts)}, {now}"
