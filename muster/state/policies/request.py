"""Requests of people to a run: a restart of the gang (``muster restart``), and edits that its pods do not follow.

The request for a restart is a text in an annotation of the Experiment: who asks, and when. The record holds the last
one that was followed, and another text is another request, so that each is followed once, whichever daemon leads. Such
a restart is charged to no budget and waits for no back-off. While no gang is at work there is nothing to restart: a
request ends the back-off, and that is all. One that existed when the experiment was created is none.
"""

from msgspec.structs import replace

from muster.api.manifest.edits import changed
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


LONGEST = 500
"""Characters that are kept of the problem of an edit: it begins with the field."""
_WITHOUT_PODS = (Phase.SUSPENDED, Phase.QUEUED, Phase.RESTARTING)


def track_edits(context: Context) -> Record:
    """Return the record with the shape of its epoch, and the edits since then that its pods do not follow.

    The CRD refuses such edits (``muster.api.manifest.edits``), but the kind of an older release does not know every
    rule. Pods that run are never restarted for an edit: those that are created from then on follow it, at the latest
    those of the next epoch, and until then the status and an Event name the fields. The record holds digests of the
    fields with which its epoch was begun; while the epoch has no pod they follow the spec. So an edit that comes in one
    patch with the resumption, as Kueue's node selectors do, is simply the spec.

    An edit that cannot be run, as one whose failure rule names no type, is not followed at all: the run continues as
    before it, and the status and an Event name the problem.
    """
    plan, record, shape = context.plan, context.record, context.plan.edits.shape
    if record.finished or not shape:
        return record
    without_pods = record.phase in _WITHOUT_PODS or (record.phase is Phase.PENDING and not context.tally.pods)
    kept = shape if not record.shape or without_pods else record.shape
    problem = " ".join(plan.edits.problem.split())[:LONGEST]
    pending = problem or plan.edits.waits or ", ".join(f"spec.{name}" for name in changed(kept, shape))
    found = {"shape": kept, "pending_edits": pending, "edit_refused": bool(problem), "groups": plan.edits.sizes}
    return record if all(getattr(record, name) == value for name, value in found.items()) else replace(record, **found)
