"""Queues: pods only while Kueue has admitted the experiment's Workload, and what Muster does to that Workload.

An Experiment with the label ``kueue.x-k8s.io/queue-name`` has one Workload for all its epochs. Kueue shows by the
Workload's conditions whether its pods may run (``state.vocabulary.workload``):

- not admitted: phase Queued, no pod, no clock but the total, and Kueue's own text in the message;
- admitted: the gang is launched. A gang restart inside an admitted Workload keeps quota and place;
- evicted (preempted, deactivated, PodsReady timeout, queue stopped): the epoch is over. That is a disruption: it is
  charged neither to the restart budget nor to ``maxDisruptions``, because the queue itself paces what follows;
- the Workload is gone, inactive or no longer admitted while pods live: the quota is lost, with the same verdict.

A problem that a person must fix is Stuck: a request that no quota of the queue can ever hold, a queue that does not
exist, a Workload that was deactivated, a Workload that Kueue does not take up, an API of Kueue that does not exist.

Muster does this to the Workload, so that Kueue gives quota to the gang and gets it back:

==================  ====================================================================================
while               the Workload
==================  ====================================================================================
queued              is made; one for other podSets is deleted first; it follows the label to another queue
evicted             gives its quota back once no pod of the experiment runs (``_released``)
at work             shows by PodsReady whether all members are ready: without it Kueue evicts the gang
finished            gets Finished once no pod runs, then loses Muster's finalizer
suspended, deleted  is deleted once no pod runs, then loses Muster's finalizer
==================  ====================================================================================

Without the label an experiment that has a Workload stays queued until that is gone: removing the label must not be a
way around the quota. So an experiment leaves its queue through a suspension, which deletes the Workload.

Kueue acts for its own integrations by the same conditions (kueue: pkg/workload, pkg/controller/jobframework); for a
Workload of another controller it waits, forever if need be, until that controller has released the quota.

A pod that still runs uses the quota. So nothing gives it back before the last pod has ended, and the finalizer holds it
if the Workload is deleted by others. A pod that vanished from the watch without a last state may run: it is asked for
by name first (``ConfirmEnd``).
"""

from collections.abc import Iterator
from typing import Final

from muster.api.names import QUEUE_LABEL
from muster.api.values.timestamps import whole_time
from muster.state.facts import presence
from muster.state.facts.admission import DEACTIVATED, UNAVAILABLE, admits, applies, quoted, workload_of
from muster.state.facts.context import Context
from muster.state.policies.verdicts import Requeue
from muster.state.vocabulary import actions
from muster.state.vocabulary.record import Cause, Phase
from muster.state.vocabulary.workload import (
    ADMITTED,
    FINISHED,
    PODS_READY,
    QUOTA_RESERVED,
    REQUEUED,
    Workload,
    WorkloadCondition,
)

REQUEUED_AT_ONCE = frozenset(("Preempted", "NodeFailures"))
"""Evictions after which the Workload queues again at once. After all others Kueue, or a person, decides when
(kueue: pkg/controller/jobframework, reconciler.go)."""
NO_RESERVATION = "The workload has no reservation"
"""The words of Kueue."""

Row = tuple[str, bool, str, str]


def ask(context: Context) -> Iterator[actions.QueueAction]:
    """Yield the actions that bring a queued Workload to its admission."""
    workload = workload_of(context.plan, context.view)
    yield from close(context)
    if context.view.queue_problem:
        return
    if workload is None:
        if context.plan.queue is not None and not context.view.workloads:
            yield actions.EnsureWorkload()
    elif _used(workload):
        return
    elif context.plan.queue is not None and workload.queue != context.plan.queue.name and not workload.reserved:
        yield actions.MoveWorkload(workload, context.plan.queue.name)  # a Workload with quota cannot be moved


def report(context: Context) -> Iterator[actions.QueueAction]:
    """Report to Kueue, while the gang is at work, whether all members are ready.

    It is reported once per epoch. A member that is not ready for a moment is no recovery that Kueue should time.
    """
    workload = workload_of(context.plan, context.view) if context.view.workloads else None
    if workload is None or not workload.admitted:
        return
    tally, together = context.tally, context.plan.together
    ready = tally.ready + tally.succeeded
    ready_then = workload.condition(PODS_READY)
    if context.record.phase in (Phase.RESTARTING, Phase.PENDING):
        if ready_then is not None and ready_then.true and ready < together:
            message = f"epoch {context.record.epoch} is being started"
            yield replace_conditions(context, workload, (PODS_READY, False, "WaitForRecovery", message))
    elif ready >= together and not (ready_then and ready_then.true):
        reason = "Recovered" if ready_then is not None and ready_then.reason == "WaitForRecovery" else "Started"
        message = "the member is ready" if together == 1 else f"all {together} members are ready"
        yield replace_conditions(context, workload, (PODS_READY, True, reason, message))


def close(context: Context) -> Iterator[actions.QueueAction]:
    """Give back the quota that is not needed once no pod runs.

    If the pods of an experiment that is being deleted are to stay, Kueue is left to itself.
    """
    lifecycle = context.plan.lifecycle
    if (lifecycle.deleting and lifecycle.orphans) or not _working(context):
        yield from _outlived(context)


def confirm(context: Context) -> Iterator[actions.ConfirmEnd]:
    """Ask for pods that are no longer seen, if only they keep the quota from being given back.

    It is the last action of a step: while the answer is that they run, nothing else waits for it.
    """
    if context.plan.lifecycle.orphans or any(context.view.alive()) or not any(True for _ in _outlived(context)):
        return
    vanished, search = tuple(context.view.engine.vanished.values()), _search_due(context)
    if vanished or search:
        yield actions.ConfirmEnd(context.record.epoch, vanished, search)


def _outlived(context: Context) -> Iterator[actions.QueueAction]:
    """Yield the actions that give back quota that no pod needs."""
    record = context.record
    decides = workload_of(context.plan, context.view) if record.phase is Phase.QUEUED else None
    for workload in context.view.workloads.values():
        if context.plan.lifecycle.deleting:
            if not context.plan.lifecycle.orphans:
                yield from _discard(workload)
            elif workload.held:
                yield actions.ReleaseWorkload(workload)
        elif workload is decides and (context.view.queue_problem or not _used(workload)):
            continue
        elif workload is decides and workload.eviction and not (workload.deleting or workload.has(FINISHED)):
            yield _released(context, workload, workload.eviction)
        elif not record.finished or workload.deleting:
            yield from _discard(workload)
        elif not workload.has(FINISHED):
            reason = "Succeeded" if record.phase is Phase.SUCCEEDED else "Failed"
            yield replace_conditions(context, workload, (FINISHED, True, reason, record.message))
        elif workload.held:
            yield actions.ReleaseWorkload(workload)


def _used(workload: Workload) -> bool:
    """Return True if the Workload cannot be admitted before it was given back."""
    return workload.deleting or workload.has(FINISHED) or bool(workload.eviction and workload.reserved)


def _working(context: Context) -> bool:
    """Return True if a pod of the experiment may still run."""
    return any(context.view.alive()) or bool(context.view.engine.vanished) or _search_due(context)


def _search_due(context: Context) -> bool:
    """Return True if pods may have been launched and vanished before this process came."""
    begun = context.record.epoch > 0 or context.record.epoch_at is not None
    return begun and presence.older_unknown(context)


def _discard(workload: Workload) -> Iterator[actions.QueueAction]:
    """Delete the Workload, then let it go."""
    if not workload.deleting:
        yield actions.DeleteWorkload(workload)
    elif workload.held:
        yield actions.ReleaseWorkload(workload)


def _released(context: Context, workload: Workload, eviction: WorkloadCondition) -> actions.PatchWorkloadStatus:
    """Return the patch that gives the quota back: what Kueue's reconciler of its own jobs writes."""
    gone = f"no pod of epoch {max(context.record.epoch - 1, 0)} runs"
    return replace_conditions(
        context,
        workload,
        (QUOTA_RESERVED, False, "PendingEvaluation", gone),
        (ADMITTED, False, "NoReservation", NO_RESERVATION),
        (PODS_READY, False, "WaitForStart", gone),
        (REQUEUED, eviction.reason in REQUEUED_AT_ONCE, eviction.reason, gone),
        release=True,
    )


def replace_conditions(
    context: Context, workload: Workload, *rows: Row, release: bool = False
) -> actions.PatchWorkloadStatus:
    """Return the Workload's conditions with these rows; all others stay, and a time moves only with its status."""
    found = {each.type: each for each in workload.conditions}
    now = whole_time(context.now)
    for kind, true, reason, message in rows:
        status = "True" if true else "False"
        before = found.get(kind)
        since = before.since if before is not None and before.status == status else now
        found[kind] = WorkloadCondition(kind, status, reason, message, since, workload.generation)
    return actions.PatchWorkloadStatus(workload, tuple(found.values()), release)


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


def read_admission(context: Context) -> actions.ReadAdmission | None:
    """Return the read that is due before the first pod of this epoch is created."""
    workload = workload_of(context.plan, context.view) if applies(context) else None
    if workload is None:
        return None
    known = context.view.engine.placement
    if known is not None and (known.epoch, known.workload) == (context.record.epoch, workload.uid):
        return None
    return actions.ReadAdmission(context.record.epoch, workload)


def _lost(context: Context) -> tuple[str, str]:
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
        return eviction.reason, quoted(eviction.message)
    if workload.deleting:
        return DELETED, f"its Workload {workload.name} is being deleted"
    if not workload.active:
        return DEACTIVATED, f"its Workload {workload.name} was deactivated (spec.active)"
    if workload.has(FINISHED):
        return FINISHED_BY_OTHERS, f"its Workload {workload.name} was finished by others"
    condition = workload.condition(ADMITTED)
    return ADMISSION_LOST, quoted(condition.message) if condition else f"its Workload {workload.name} is not admitted"
