"""Absent members: of a gang whose members run again one by one, those that had a pod and have none.

Once every member was there (``Context.launched``), a member in its first attempt that has no pod has lost it, also
where the pod was taken away while no daemon ran. It is asked for at the live API (``ConfirmLoss``) and then judged as
one that was seen to go: a Job counts it as failed, as the Job controller does. Of later attempts nothing says whether
their pod was created; it is created where it is missing. Where the members of some group take turns, nothing says which
had begun, nor whether a group that waits for that one had.
"""

from muster.state.context import Context
from muster.state.policies.failures import failure


def ranks(context: Context) -> set[int]:
    """The ranks of these members. Groups that are complete cost nothing."""
    found: set[int] = set()
    tally = context.tally
    if not context.launched or context.plan.sequential:
        return found
    for group in context.plan.groups:
        if tally.of_group(group.name).pods >= group.size:
            continue
        again = tally.attempts if failure.mends(context, group) else {}
        span = range(group.first_rank, group.first_rank + group.size)
        found.update(
            rank for rank in span if rank not in tally.members and rank not in tally.collected and rank not in again
        )
    return found
