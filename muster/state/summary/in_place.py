"""Sentences on containers that the kubelet has started again in their pods.

``rank 1 (run-1) ended with exit code 137 (SIGKILL), OOMKilled in container train on node n1; started again in its pod
8 times (last end at 2026-11-28T10:00:00Z)``.
"""

from collections.abc import Iterator

from muster.api.values.humanize import often
from muster.api.values.timestamps import whole_time
from muster.state.facts.causes.table import Causes
from muster.state.facts.sentences import sentence
from muster.state.view.stale_members import STALE_MEMBERS
from muster.state.vocabulary.record import ContainerRestarts, Record

REASON = Causes.RESTARTED_IN_PLACE.stuck_as
NAMED_BY = (REASON, STALE_MEMBERS)
"""Reasons of a status whose sentence names the restart."""


def said(restarts: ContainerRestarts | None, epoch: int) -> str:
    """Return the sentence on the last restarts in that epoch; empty without any."""
    if restarts is None or restarts.cause is None or restarts.cause.epoch != epoch:
        return ""
    cause = restarts.cause
    at = f" (last end at {whole_time(cause.at)})" if cause.at else ""
    restart = "restart" if restarts.others == 1 else "restarts"
    others = f"; after it {restarts.others} {restart} of other members" if restarts.others else ""
    return f"{sentence(cause)}; started again in its pod {often(restarts.times)}{at}{others}"


def turns(before: Record | None, after: Record) -> Iterator[tuple[str, str, bool]]:
    """Yield the line of the story that reports it."""
    if before is None or after.in_place is None:
        return
    if after.in_place.count > (before.in_place.count if before.in_place is not None else 0):
        message = said(after.in_place, after.epoch)
        if message:
            yield REASON, message, True
