"""The barrier: no member of an epoch starts while a pod of another epoch may still run.

Two epochs at once would mix at the rendezvous: a late rank of the old one registers with the new coordinator and
both runs die. Each pod is deleted and then awaited; ``terminating`` is the clock over the wait.

A pod that was deleted by others has a grace period of its own, which may be an hour (``gracefulTermination`` in an
eviction, ``kubectl delete --grace-period``). The plan states for how long a restart waits for it (``longest_grace``);
then the rest is cut to a second. That is no deletion by force: the kubelet still kills the pod and reports it.

Within an epoch the same holds for each rank: its next attempt begins when no pod of an older one may run.

A pod that vanished from the watch without a last state may run: a label of it was removed. It is deleted with the
others, by name and uid, and asked for by name before the next launch (``ConfirmLaunch``), and before quota is given
back (``ConfirmEnd``).

Pods that have ended do no harm. The one that caused the last restart is kept for its logs; the others are deleted.
"""

from collections.abc import Iterator

from muster.state.facts import presence
from muster.state.facts.context import Context
from muster.state.vocabulary.actions import DeletePods, StopPods
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Phase
from muster.state.vocabulary.rules import ClockAction, ClockName

CUT_GRACE = 1
"""Seconds; 0 would be a deletion by force."""
STOP_MARGIN = 30.0
"""Seconds beyond the grace period within which a kubelet must have stopped a pod."""


def sweep(context: Context) -> list[DeletePods]:
    """Delete the pods of other epochs and attempts, but not the terminating ones and the pod of the last cause."""
    kept = context.record.cause.uid if context.record.cause else ""
    alive = tuple(pod for pod in (*context.lingering, *presence.older_vanished(context)) if not pod.terminating)
    ended = tuple(pod for pod in _superseded(context) if not pod.live and not pod.terminating and pod.uid != kept)
    forced = _forced(context)
    if forced:
        living = _delete(context, forced, 0, "their terminating clock has run out, and its action is Restart")
    else:
        living = _delete(context, alive, context.plan.restarts.grace, "they belong to an older epoch or attempt")
        living += _delete(context, _overdue(context), CUT_GRACE, "their grace period is longer than a restart waits")
    return [*living, *_delete(context, ended, 0, "they have ended and belong to an older epoch or attempt")]


def end(context: Context) -> list[StopPods | DeletePods]:
    """End every pod that still runs: the experiment is over or suspended. Ended pods stay for their logs.

    At the end of an experiment a program of its last epoch is stopped and its pod kept, because the log of a rank that
    hung shows why. Pods without a program, pods that do not stop in time, and all pods of a suspension are deleted.
    """
    if context.record.finished and not context.plan.lifecycle.keep_ended:
        everything = [pod for tally in context.view.epochs.values() for pod in tally.members.values()]
        everything += context.view.engine.vanished.values()
        return [*_delete(context, tuple(pod for pod in everything if not pod.terminating), None, "the plan keeps none")]
    alive = tuple(pod for pod in context.view.alive() if not pod.terminating)
    kept = tuple(pod for pod in alive if _to_keep(context, pod))
    rest = tuple(pod for pod in alive if not _to_keep(context, pod)) if kept else alive
    rest += tuple(pod for pod in context.view.engine.vanished.values() if not pod.terminating)
    at = give_up_at(context)
    overdue = at is not None and context.now >= at
    asked = () if overdue else tuple(pod for pod in kept if pod.uid not in context.view.engine.stopping)
    deletions = _delete(context, rest, None, "the experiment no longer runs")
    if overdue:
        deletions += _delete(context, kept, None, "they have not stopped in time", unless_ended=True)
    return [StopPods(asked, "the experiment has ended"), *deletions] if asked else [*deletions]


def give_up_at(context: Context) -> float | None:
    """Return when pods that were to stop at the end of the experiment are deleted: their kubelet does not answer."""
    since = context.record.ending_at
    if since is None or not context.record.finished:
        return None
    return since + max((group.pod.grace for group in context.plan.groups), default=0) + STOP_MARGIN


def _to_keep(context: Context, pod: Pod) -> bool:
    """Return True for a program of the last epoch and attempt: its log shows how the experiment has ended."""
    record = context.record
    if not record.finished or not pod.started or pod.epoch != record.epoch:
        return False
    return pod.attempt == record.attempt_of(pod.rank)


def cut_at(context: Context) -> float | None:
    """Return when the grace of pods of older epochs is cut."""
    since = context.record.ending_at
    if since is None or context.record.finished or context.record.phase is Phase.SUSPENDED:
        return None
    return since + context.plan.restarts.longest_grace


def _overdue(context: Context) -> tuple[Pod, ...]:
    """Return the pods of older epochs whose grace period goes beyond the time for which a restart waits."""
    at = cut_at(context)
    if at is None or context.now < at:
        return ()
    return tuple(pod for pod in context.lingering if pod.terminating and pod.delete_by > context.now + CUT_GRACE)


def _superseded(context: Context) -> Iterator[Pod]:
    """Yield the pods of other epochs, and of other attempts of this one."""
    for tally in context.view.others(context.record.epoch):
        yield from tally.members.values()
        yield from tally.older.values()
    yield from context.tally.older.values()


def _delete(
    context: Context, pods: tuple[Pod, ...], grace: int | None, why: str, *, unless_ended: bool = False
) -> list[DeletePods]:
    """Delete the pods whose deletion within that grace the API server has not accepted already."""
    asked = tuple(pod for pod in pods if not context.view.engine.delete_accepted(pod, grace))
    return [DeletePods(asked, grace, why, unless_ended)] if asked else []


def _forced(context: Context) -> tuple[Pod, ...]:
    """Return the pods to delete by force, if the spec asks for that when pods take too long to end.

    A pod deleted by force may still run on a node that is cut off. Its address is of an older epoch, so it cannot reach
    the new coordinator, but it may hold accelerators and write to shared volumes: so never by default.
    """
    since = context.record.ending_at
    clock = context.plan.clock(ClockName.TERMINATING) if since is not None else None
    if clock is None or since is None or clock.action is not ClockAction.RESTART or context.now < since + clock.after:
        return ()
    return tuple(context.lingering)
