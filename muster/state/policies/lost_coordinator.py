"""Lost coordinator: a coordinator that has served in this epoch and has no pod was lost, not pending.

The other members met at it, so its loss is theirs, however few of them there were: a Ray head keeps its jobs and actors
in memory, and the JAX coordinator its registrations. Its pod is not created again in the epoch, also if not all members
had a node yet. The record shows that it served (``CoordinatorReady``, or a roll with an arrival), so a daemon that was
away while the pod was taken decides as one that saw it go. The live API is asked before (``ConfirmLoss``).

A coordinator that may run again alone, because a failure rule allows it, is created in its current attempt.
"""

from muster.state.facts import presence
from muster.state.facts.context import Context
from muster.state.policies import restart
from muster.state.vocabulary.record import ConditionType


def lost(context: Context) -> int | None:
    """Return the rank of the coordinator that has served and has no pod; None if there is none."""
    coordinator = context.plan.asked
    if coordinator is None:
        return None
    rank = coordinator.rank
    if presence.has_pod_or_needs_none(context, rank) or not _served(context):
        return None
    group = context.plan.group_of(rank)
    alone = context.plan.piecewise and group is not None and restart.mends(context, group)
    return None if alone else rank


def _served(context: Context) -> bool:
    record, probe = context.record, context.probe
    if probe is not None and probe.served:
        return True
    ready, roll = record.condition(ConditionType.COORDINATOR_READY), record.roll
    return bool(ready and ready.status) or bool(roll and roll.arrived)
