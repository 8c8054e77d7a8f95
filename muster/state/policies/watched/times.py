"""When an epoch of a watched run began, as its pods say it, so that its clock runs on over a restart of the daemon.

A daemon that starts finds pods that were made long before: the epoch begins with the first of them. The times of later
phases are not taken from pods. When the last pod had a node, or the roll was complete, none says; and from the time at
which it saw the first program run, a daemon measures how long the coordinator took to open its port.
"""

from muster.state.facts.context import Context


def epoch_at(context: Context) -> float:
    """When the first pod of the epoch was made; now, where no pod says."""
    times = (pod.created for pod in context.tally.members.values())
    return min((at for at in times if 0.0 < at <= context.now), default=context.now)
