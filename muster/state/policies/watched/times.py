"""The begin of an epoch of a watched run, by its pods, so that its clock continues after a restart of the daemon.

A daemon that starts finds pods that were made long before: the epoch begins with the first of them. The times of later
phases are not taken from pods. No pod shows when the last one had a node, or when the roll was complete; and from the
time at which it saw the first program run, a daemon measures how long the coordinator took to open its port.
"""

from muster.state.facts.context import Context


def epoch_at(context: Context) -> float:
    """Return when the first pod of the epoch was made; now, if no pod shows it."""
    times = (pod.created for pod in context.tally.members.values())
    return min((at for at in times if 0.0 < at <= context.now), default=context.now)
