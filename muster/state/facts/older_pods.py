"""Pods of older epochs and attempts that may still run, also those that vanished without a last state."""

from muster.state.facts.context import Context
from muster.state.vocabulary.pod import Pod


def clear(context: Context) -> bool:
    """No pod of another epoch may run any more."""
    return not any(tally.alive for tally in context.view.others(context.record.epoch))


def vanished(context: Context) -> tuple[Pod, ...]:
    """Pods of other epochs and attempts that vanished, and may run all the same: a label of theirs was removed."""
    record = context.record
    pods = context.view.engine.vanished.values()
    return tuple(pod for pod in pods if (pod.epoch, pod.attempt) != (record.epoch, record.attempt_of(pod.rank)))


def unknown(context: Context) -> bool:
    """This process has seen no gang of the experiment complete, so it does not know which pods had vanished before."""
    facts = context.view.engine
    return facts.launched < 0 and not facts.searched
