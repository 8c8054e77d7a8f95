"""What keeps a member from starting or working, said at once, and called Stuck when it lasts.

``current`` names the most definite obstacle now. ``track`` keeps its reason and its beginning in the record, so that
its time runs on when another daemon takes over. Stuck is true once the obstacle has lasted its patience, and false when
it is gone:

===================  ===================================================================  ========
reason               obstacle                                                             patience
===================  ===================================================================  ========
the container's own  a container that cannot be made, or an image that cannot be pulled   15 s
the scheduler's own  no node fits a member (``Unschedulable``)                            60 s
===================  ===================================================================  ========

An obstacle is an alert and no verdict: the clocks decide. Kubelets alternate between reasons while they retry
(ErrImagePull, ImagePullBackOff), and members may be held by different ones: another reason of the same kind does not
start the patience anew, and so cannot flap Stuck.
"""

import msgspec
from msgspec.structs import replace

from muster.state.context import Context
from muster.state.pod import Pod
from muster.state.record import Blocked, Record
from muster.state.summary.messages import EXACT, share, why_idle

CONTAINER_PATIENCE = 15.0
"""Seconds: a Secret or a registry that is a moment late is no news, a typo is."""
UNSCHEDULABLE_PATIENCE = 60.0
"""Seconds: an autoscaler takes about that long to bring a node."""

_SCHEDULER = frozenset(("Unschedulable", "SchedulerError"))
"""Reasons of a false PodScheduled condition (kubernetes: pkg/scheduler)."""
_SAME = {"ErrImagePull": "ImagePullBackOff"}
"""Reasons between which a kubelet alternates, by the one that is shown."""


class Obstacle(msgspec.Struct, frozen=True):
    """What keeps a member from going on."""

    reason: str
    message: str
    patience: float
    """Seconds after which it counts as stuck."""
    pod: str


def current(context: Context) -> Obstacle | None:
    """The most definite obstacle of this epoch, where the gang is wanted."""
    if not context.record.gathering:
        return None
    tally, size = context.tally, context.plan.together
    if pod := next(iter(tally.held.values()), None):
        count = f"{share(tally.started, size)} programs run"
        return _of_pod(pod, count, len(tally.held), CONTAINER_PATIENCE)
    if pod := next(iter(tally.unplaced.values()), None):
        count = f"{share(tally.scheduled, size)} members have a node"
        return _of_pod(pod, count, len(tally.unplaced), UNSCHEDULABLE_PATIENCE)
    return None


def track(context: Context, obstacle: Obstacle | None) -> Record:
    """The record with the obstacle's reason and the time since when one of its kind is there."""
    before = context.record.blocked
    if obstacle is None:
        return context.record if before is None else replace(context.record, blocked=None)
    if before and before.reason == obstacle.reason:
        return context.record
    same_kind = before is not None and _kind(before.reason) == _kind(obstacle.reason)
    since = before.since if before and same_kind else context.now
    return replace(context.record, blocked=Blocked(obstacle.reason, since))


def due(record: Record, obstacle: Obstacle | None) -> float | None:
    """When the obstacle counts as stuck."""
    return record.blocked.since + obstacle.patience if record.blocked and obstacle else None


def _of_pod(pod: Pod, count: str, pods: int, patience: float) -> Obstacle:
    reason = _SAME.get(pod.waiting_reason, pod.waiting_reason)
    more = "" if pods == 1 else f" and {pods - 1} more" if pods <= EXACT else " and more"
    sentence = f"{count}; rank {pod.rank} ({pod.name}, {why_idle(pod)}){more}"
    return Obstacle(reason, sentence, patience, pod.name)


def _kind(reason: str) -> str:
    return "scheduler" if reason in _SCHEDULER else "container"
