"""Suspension: ``spec.suspend`` deletes the gang and keeps the experiment; ``spec.cancel`` ends it.

A resumed experiment starts again: a new epoch, a new total clock, no restart counted.
"""

from muster.state.facts.context import Context
from muster.state.facts.sentences import sentence
from muster.state.policies.verdicts import Fail, Resume, Suspend
from muster.state.vocabulary.record import Phase, Record


def judge(context: Context) -> Suspend | Resume | Fail | None:
    """Follow ``spec.suspend`` and ``spec.cancel``."""
    if context.plan.lifecycle.cancel:
        return Fail(
            "Cancelled",
            f"cancelled by {context.plan.lifecycle.cancelled_by or 'spec.cancel'}{_too_early(context.record)}",
        )
    suspended = context.record.phase is Phase.SUSPENDED
    if context.plan.lifecycle.suspend and not suspended:
        return Suspend()
    if suspended and not context.plan.lifecycle.suspend:
        return Resume()
    return None


def _too_early(record: Record) -> str:
    """Return `` before epoch 1 began; rank 2 …``: the announced restart did not begin, and its cause."""
    if record.phase is not Phase.RESTARTING or record.cause is None:
        return ""
    return f" before epoch {record.epoch} began; {sentence(record.cause)}"
