"""Absent members: those that had a pod, and have none that is seen.

A pod that vanished without a last state may run, or was lost with all that its program had done in this epoch. So no
other one is created for its member, also before the gang is complete: it is asked for at the live API first.

Of a gang whose members run again one by one, pods may be missing that this process has never seen. Once every member
was there (``Context.launched``), a member in its first attempt that has no pod has lost it, also where the pod was
taken away while no daemon ran. It is asked for at the live API (``ConfirmLoss``) and then judged as one that was seen
to go: a Job counts it as failed, as the Job controller does. Of later attempts nothing says whether their pod was
created; it is created where it is missing. Where the members of some group take turns, nothing says which had begun,
nor whether a group that waits for that one had.
"""

from collections.abc import Iterator

from muster.state.facts.context import Context
from muster.state.vocabulary.pod import Pod


def unseen(context: Context) -> dict[int, Pod]:
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
        if current and pod.rank not in tally.members and pod.rank not in tally.collected:
            yield pod


def ranks(context: Context) -> set[int]:
    """Where members run again one by one: the ranks that have no pod and had one, in their first attempt.

    Complete groups cost nothing.
    """
    found: set[int] = set()
    tally = context.tally
    if not context.launched or context.plan.sequential:
        return found
    for group in context.plan.groups:
        if tally.of_group(group.name).pods >= group.size:
            continue
        span = range(group.first_rank, group.first_rank + group.size)
        known = tally.members, tally.collected, tally.attempts
        found.update(rank for rank in span if not any(rank in each for each in known))
    return found
