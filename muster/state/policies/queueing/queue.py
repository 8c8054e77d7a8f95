"""Queue: pods only while Kueue has admitted the experiment's Workload.

An Experiment with the label ``kueue.x-k8s.io/queue-name`` has one Workload for all its epochs. Kueue shows by the
Workload's conditions whether its pods may run (``state.vocabulary.workload``):

- not admitted: phase Queued, no pod, no clock but the total, and Kueue's own text in the message;
- admitted: the gang is launched. A gang restart inside an admitted Workload keeps quota and place;
- evicted (preempted, deactivated, PodsReady timeout, queue stopped): the epoch is over. That is a disruption: it is
  charged neither to the restart budget nor to ``maxDisruptions``, because the queue itself paces what follows;
- the Workload is gone, inactive or no longer admitted while pods live: the quota is lost, with the same verdict.

A problem that a person must fix is Stuck: a request that no quota of the queue can ever hold, a queue that does not
exist, a Workload that was deactivated, a Workload that Kueue does not take up, an API of Kueue that does not exist.

The label is followed while the experiment has no Workload. One that has a Workload stays queued until that is gone:
removing the label must not be a way around the quota. So an experiment leaves its queue through a suspension, which
deletes the Workload.
"""

from typing import Final

from muster.api.names import QUEUE_LABEL
from muster.state.facts.admission import DEACTIVATED, UNAVAILABLE, admits, applies, said, workload_of
from muster.state.facts.context import Context
from muster.state.policies.verdicts import Requeue
from muster.state.vocabulary.actions import ReadAdmission
from muster.state.vocabulary.record import Cause, Phase
from muster.state.vocabulary.workload import ADMITTED, FINISHED

OUTDATED, NOT_ADMITTED, DELETED = "WorkloadOutdated", "NotAdmitted", "WorkloadDeleted"
FINISHED_BY_OTHERS, ADMISSION_LOST = "WorkloadFinished", "AdmissionLost"
EVICTED_FOR: Final = (
    "Preempted",
    "FlavorMigration",
    "PodsReadyTimeout",
    "AdmissionCheck",
    "ClusterQueueStopped",
    "LocalQueueStopped",
    "NodeFailures",
    "EvictedOnManagerCluster",
    "WorkloadSliceReplaced",
    DEACTIVATED,
)
"""Reasons of a true Evicted (kueue: apis/kueue/v1beta2/workload_types.go). Some end in a cause: DeactivatedDueTo…"""
LOST: Final = (
    *EVICTED_FOR,
    UNAVAILABLE,
    OUTDATED,
    NOT_ADMITTED,
    DELETED,
    FINISHED_BY_OTHERS,
    ADMISSION_LOST,
)
"""Every reason for which an epoch ends because its quota is lost."""


def judge(context: Context) -> Requeue | None:
    """End the epoch if the quota is lost.

    A gang at work continues while Kueue's API cannot be seen: nothing shows that its quota was taken back.
    """
    if context.record.phase is Phase.QUEUED or admits(context):
        return None
    if context.view.queue_problem and context.tally.pods:
        return None
    reason, message = _lost(context)
    return Requeue(Cause(context.record.epoch, reason, message, context.now, disruption=True))


def read_admission(context: Context) -> ReadAdmission | None:
    """Return the read that is due before the first pod of this epoch is created."""
    workload = workload_of(context.plan, context.view) if applies(context) else None
    if workload is None:
        return None
    known = context.view.engine.placement
    if known is not None and (known.epoch, known.workload) == (context.record.epoch, workload.uid):
        return None
    return ReadAdmission(context.record.epoch, workload)


def _lost(context: Context) -> tuple[str, str]:
    """Return the reason why the Workload no longer gives quota."""
    if context.view.queue_problem:
        return UNAVAILABLE, context.view.queue_problem
    workload = workload_of(context.plan, context.view)
    if workload is None:
        if context.view.workloads:
            return OUTDATED, "the spec asks for other pods than its Workload has quota for"
        if context.record.epoch_at is not None and not context.tally.pods:
            return NOT_ADMITTED, f"it has the label {QUEUE_LABEL}, and no queue has admitted it"
        return DELETED, "its Workload is gone, and the quota with it"
    if eviction := workload.eviction:
        return eviction.reason, said(eviction.message)
    if workload.deleting:
        return DELETED, f"its Workload {workload.name} is being deleted"
    if not workload.active:
        return DEACTIVATED, f"its Workload {workload.name} was deactivated (spec.active)"
    if workload.has(FINISHED):
        return FINISHED_BY_OTHERS, f"its Workload {workload.name} was finished by others"
    condition = workload.condition(ADMITTED)
    return ADMISSION_LOST, said(condition.message) if condition else f"its Workload {workload.name} is not admitted"
