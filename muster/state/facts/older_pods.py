"""Pods of older epochs and attempts that may still run, also those that vanished without a last state."""

from muster.state.facts.context import Context
from muster.state.vocabulary.pod import Pod


def clear(context: Context) -> bool:
    """Return True if no pod of another epoch may still run."""
    return not any(tally.alive for tally in context.view.others(context.record.epoch))


def vanished(context: Context) -> tuple[Pod, ...]:
    """Return vanished pods of other epochs and attempts that may run in spite of that: a label was removed."""
    record = context.record
    pods = context.view.engine.vanished.values()
    return tuple(pod for pod in pods if (pod.epoch, pod.attempt) != (record.epoch, record.attempt_of(pod.rank)))


def unknown(context: Context) -> bool:
    """Return True if this process has seen no complete gang, and so does not know which pods had vanished before."""
    facts = context.view.engine
    return facts.launched < 0 and not facts.searched
