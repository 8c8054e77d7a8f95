"""Presence: whether a member of this epoch has a pod, and the fate of a pod that is not seen.

A pod that vanished without a last state may run, or was lost with all that its program had done in this epoch. So no
other one is created for its member, also before the gang is complete: the live API is asked for it first.

In a gang whose members run again one by one, pods may be missing that this process has never seen. Once every member
had a pod (``Context.launched``), a member in its first attempt that has none has lost it, also where the pod was taken
away while no daemon ran. The live API is asked for it (``ConfirmLoss``), and then it is judged as one seen to go:
a Job counts it as failed, as the Job controller does. Of later attempts nothing shows whether their pod was created; it
is created where it is missing. If the members of some group take turns, nothing shows which had begun, nor whether
a group that waits for that one had.

Pods of older epochs and attempts may still run, also those that vanished without a last state: ``none_older`` and the
two functions below it answer for these.
"""

from collections.abc import Iterator
from enum import Enum

from muster.state.facts.context import Context
from muster.state.vocabulary.pod import Pod


def none_older(context: Context) -> bool:
    """Return True if no pod of another epoch may still run."""
    return not any(tally.alive for tally in context.view.others(context.record.epoch))


def older_vanished(context: Context) -> tuple[Pod, ...]:
    """Return vanished pods of other epochs and attempts that may run in spite of that: a label was removed."""
    record = context.record
    pods = context.view.engine.vanished.values()
    return tuple(pod for pod in pods if (pod.epoch, pod.attempt) != (record.epoch, record.attempt_of(pod.rank)))


def older_unknown(context: Context) -> bool:
    """Return True if this process has seen no complete gang, and so does not know which pods had vanished before."""
    facts = context.view.engine
    return facts.launched < 0 and not facts.searched


class Presence(Enum):
    """The presence of a member's pod in its current attempt."""

    SEEN = "seen"
    """The watch shows its pod."""
    DONE = "done"
    """The member needs no pod: it has succeeded, or is given up."""
    GONE = "gone"
    """The pod was removed, or all members had one and this has none. The live API decides (``ConfirmLoss``)."""
    VANISHED = "vanished"
    """The watch no longer shows the pod, gave no last state, and the pod may run."""
    UNMADE = "unmade"
    """No pod of the member is known to have run a program: one is created."""


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
    """Return True if the member has a pod or needs none."""
    return rank in context.tally.members or rank in context.tally.collected


def vanished(context: Context) -> dict[int, Pod]:
    """Return, by rank, the pods of this epoch that vanished after they had a node, or that were altered."""
    altered = context.view.engine.altered
    return {pod.rank: pod for pod in _vanished(context) if pod.scheduled or pod.uid in altered}


def unplaced(context: Context) -> tuple[Pod, ...]:
    """Return the other vanished pods of this epoch: if one is gone, it has run nothing and can be created again."""
    altered = context.view.engine.altered
    return tuple(pod for pod in _vanished(context) if not (pod.scheduled or pod.uid in altered))


def _vanished(context: Context) -> Iterator[Pod]:
    """Yield the pods of this epoch, in the current attempts, that are no longer seen and whose end is unknown."""
    tally, epoch = context.tally, context.record.epoch
    for pod in context.view.engine.vanished.values():
        current = pod.epoch == epoch and pod.attempt == tally.attempts.get(pod.rank, 0)
        if current and not has_pod_or_needs_none(context, pod.rank):
            yield pod


def gone(context: Context) -> set[int]:
    """Return the ranks whose pod is gone, as far as this process can know it, if members run again one by one.

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
