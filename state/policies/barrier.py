"""The barrier: no member of an epoch starts while a pod of another epoch may still run.

Two epochs at once would mix at the rendezvous: a late rank of the old one registers with the new coordinator and
both runs die. Deleting is asked for once per pod and then awaited, however long it takes; ``terminating`` is the
clock over the wait.

Pods that have ended do no harm. The one that caused the last restart is kept for its logs; the others are removed.
"""

from muster.state.actions import DeletePods
from muster.state.context import Case
from muster.state.plan import ClockAction, ClockName
from muster.state.pod import Pod

RESTART_GRACE = 2
"""Seconds of grace for the survivors of a broken gang. JAX swallows SIGTERM while its preemption service is on, so a
survivor uses all the grace it gets, and its collectives are lost anyway."""


def clear(case: Case) -> bool:
    """Nothing of another epoch may run any more."""
    return not any(tally.live for tally in case.view.others(case.record.epoch))


def sweep(case: Case) -> list[DeletePods]:
    """Delete what is left of other epochs, apart from what is going already and from the cause's own pod."""
    kept = case.record.cause.uid if case.record.cause else ""
    others = case.view.others(case.record.epoch)
    alive = tuple(pod for tally in others for pod in tally.live.values() if not pod.terminating)
    ended = tuple(
        pod
        for tally in others
        for pod in tally.members.values()
        if not pod.live and not pod.terminating and pod.uid != kept
    )
    forced = _forced(case)
    if forced:
        living = _delete(case, forced, 0, "their terminating clock has run out, and its action is Restart")
    else:
        living = _delete(case, alive, RESTART_GRACE, "they belong to an older epoch")
    return [*living, *_delete(case, ended, 0, "they have ended and belong to an older epoch")]


def _delete(case: Case, pods: tuple[Pod, ...], grace: int | None, why: str) -> list[DeletePods]:
    """Delete those of the pods that the API server has not promised to delete within that grace already."""
    asked = tuple(pod for pod in pods if not case.view.dismissed_within(pod, grace))
    return [DeletePods(asked, grace, why)] if asked else []


def _forced(case: Case) -> tuple[Pod, ...]:
    """Pods to delete by force, because the spec says so for pods that take too long to end.

    A pod deleted by force may still run on a node that is cut off. Its address is of an older epoch, so it cannot reach
    the new coordinator, but it may hold accelerators and write to shared volumes: hence never by default.
    """
    clock = case.plan.clocks.get(ClockName.TERMINATING)
    since = case.record.ending_at
    if clock is None or since is None or clock.action is not ClockAction.RESTART or case.now < since + clock.after:
        return ()
    return tuple(case.lingering)


def dismiss(case: Case) -> list[DeletePods]:
    """Delete every pod that still runs: the experiment is over or suspended. Ended pods stay for their logs."""
    alive = tuple(pod for tally in case.view.epochs.values() for pod in tally.live.values() if not pod.terminating)
    return _delete(case, alive, None, "the experiment does not run any more")
