"""Requests: people ask for a restart of the gang (``muster restart``), with an annotation of the Experiment.

A request is a text: who asks, and when. The record holds the last one that was followed, and another text is another
request, so that each is followed once, whichever daemon leads. Such a restart is charged to no budget and waits for no
back-off. While no gang is at work there is nothing to restart: a request ends the back-off, and that is all. One that
existed when the experiment was created is none.
"""

from msgspec.structs import replace

from muster.state.facts.context import Context
from muster.state.policies.verdicts import Restart
from muster.state.vocabulary.record import Cause, Phase, Record

REASON = "Requested"


def judge(context: Context) -> Restart | None:
    """Restart the gang that is at work, if that is asked for."""
    if not _asked(context) or not context.record.gathering:
        return None
    cause = Cause(context.record.epoch, REASON, f"restart by {context.plan.lifecycle.restart_request}", context.now)
    return Restart(cause, counted=False, requested=True)


def track(context: Context) -> Record:
    """Return the record of an experiment without a gang at work, whose next epoch follows the request."""
    record = context.record
    if not _asked(context) or record.gathering:
        return record
    resume_at = context.now if record.phase is Phase.RESTARTING else record.resume_at
    return replace(record, restart_request=context.plan.lifecycle.restart_request, resume_at=resume_at)


def _asked(context: Context) -> bool:
    request = context.plan.lifecycle.restart_request
    return bool(request) and request != context.record.restart_request and not context.record.finished
