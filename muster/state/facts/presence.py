"""Presence: whether a member of this epoch has a pod, and what became of one that is not seen.

A pod that vanished without a last state may run, or was lost with all that its program had done in this epoch. So no
other one is created for its member, also before the gang is complete: it is asked for at the live API first.

Of a gang whose members run again one by one, pods may be missing that this process has never seen. Once every member
had a pod (``Context.launched``), a member in its first attempt that has none has lost it, also where the pod was taken
away while no daemon ran. It is asked for at the live API (``ConfirmLoss``) and then judged as one that was seen to go:
a Job counts it as failed, as the Job controller does. Of later attempts nothing shows whether their pod was created; it
is created where it is missing. Where the members of some group take turns, nothing shows which had begun, nor whether
a group that waits for that one had.
"""

from collections.abc import Iterator
from enum import Enum

from muster.state.facts.context import Context
from muster.state.vocabulary.pod import Pod


class Presence(Enum):
    """Whether a member has a pod in its current attempt."""

    SEEN = "seen"
    """The watch shows its pod."""
    DONE = "done"
    """It needs no pod: it has succeeded, or is given up."""
    GONE = "gone"
    """Its pod was removed, or all members had one and it has none. The live API has the last word (``ConfirmLoss``)."""
    VANISHED = "vanished"
    """The watch does not show its pod any more, gave no last state, and the pod may run."""
    UNMADE = "unmade"
    """No pod of it is known that has run anything: one is created."""


def of(context: Context, rank: int) -> Presence:
    """Return the presence of that member."""
    tally = context.tally
    if rank in tally.members:
        return Presence.SEEN
    if rank in tally.collected:
        return Presence.DONE
    if rank in tally.gone or (context.launched and not context.plan.sequential):
        return Presence.GONE
    return Presence.VANISHED if rank in vanished(context) else Presence.UNMADE


def has_pod_or_needs_none(context: Context, rank: int) -> bool:
    """Whether nothing of that member is missing."""
    return rank in context.tally.members or rank in context.tally.collected


def vanished(context: Context) -> dict[int, Pod]:
    """By rank: the pods of this epoch that vanished after they had a node, or that are known to have been altered."""
    if not context.view.engine.vanished:
        return {}
    altered = context.view.engine.altered
    return {pod.rank: pod for pod in _vanished(context) if pod.scheduled or pod.uid in altered}


def unplaced(context: Context) -> tuple[Pod, ...]:
    """The other pods of this epoch that vanished: one that is gone has run nothing, so it can be created again."""
    if not context.view.engine.vanished:
        return ()
    altered = context.view.engine.altered
    return tuple(pod for pod in _vanished(context) if not (pod.scheduled or pod.uid in altered))


def _vanished(context: Context) -> Iterator[Pod]:
    """The pods of this epoch, in the current attempts, that are not seen any more and of which no end is known."""
    tally, epoch = context.tally, context.record.epoch
    for pod in context.view.engine.vanished.values():
        current = pod.epoch == epoch and pod.attempt == tally.attempts.get(pod.rank, 0)
        if current and not has_pod_or_needs_none(context, pod.rank):
            yield pod


def gone(context: Context) -> set[int]:
    """Where members run again one by one: the ranks whose pod is gone, as far as this process can know it.

    Complete groups cost nothing.
    """
    tally = context.tally
    found = set(tally.gone)
    if not context.launched or context.plan.sequential:
        return found
    for group in context.plan.groups:
        if tally.of_group(group.name).pods < group.size:
            span = range(group.first_rank, group.first_rank + group.size)
            without = (rank for rank in span if not has_pod_or_needs_none(context, rank))
            found.update(rank for rank in without if rank not in tally.attempts)
    return found
