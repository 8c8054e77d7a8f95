"""Shared volume: its data are the experiment's, so Muster reports their loss.

The claim is made before the first pod and found again by each epoch. A deleted one goes, with its data, when the last
pod is gone (finalizer kubernetes.io/pvc-protection), and the next epoch would begin on an empty volume as if nothing
had happened. So the record keeps that the claim existed. If it is gone, that is persisted first, with an Event and in
the message for as long as the experiment runs. Then the claim is made again: nothing brings the data back.
"""

from msgspec.structs import replace

from muster.state.facts.context import Context
from muster.state.vocabulary.record import Record


def track(context: Context) -> Record:
    """Return the record with what is known of the claim."""
    record, facts = context.record, context.view.engine
    claims = context.plan.claims
    if not claims or not any(claim.exclusive for claim in claims):
        return record
    if facts.volume_gone == record.epoch and record.volume_at is not None:
        return replace(record, volume_at=None, volume_lost_at=context.now)
    if record.volume_at is None and facts.claims == record.epoch:
        return replace(record, volume_at=context.now)
    return record
