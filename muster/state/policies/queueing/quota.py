"""Quota: what Muster does to the Workload, so that Kueue gives quota to the gang and gets it back.

==================  ====================================================================================
while               the Workload
==================  ====================================================================================
queued              is made; one for other podSets is deleted first; it follows the label to another queue
evicted             gives its quota back once no pod of the experiment runs (``_released``)
at work             says by PodsReady whether all members are ready: without it Kueue evicts the gang
finished            gets Finished once no pod runs, then loses Muster's finalizer
suspended, deleted  is deleted once no pod runs, then loses Muster's finalizer
==================  ====================================================================================

Kueue acts for its own integrations by the same conditions (kueue: pkg/workload, pkg/controller/jobframework); for a
Workload of another controller it waits, for ever if need be, until that controller has released the quota.

A pod that still runs uses what the quota stands for. So nothing gives it back before the last pod has ended, and the
finalizer holds it where the Workload is deleted by others.
"""

from collections.abc import Iterator

from muster.api.values.timestamps import whole_time
from muster.state.actions import (
    DeleteWorkload,
    EnsureWorkload,
    MoveWorkload,
    PatchWorkloadStatus,
    QueueAction,
    ReleaseWorkload,
)
from muster.state.context import Context
from muster.state.plan import Engine
from muster.state.policies.queueing.queue import workload_of
from muster.state.record import Phase
from muster.state.view.workload import (
    ADMITTED,
    FINISHED,
    PODS_READY,
    QUOTA_RESERVED,
    REQUEUED,
    Workload,
    WorkloadCondition,
)

REQUEUED_AT_ONCE = frozenset(("Preempted", "NodeFailures"))
"""Evictions after which the Workload queues again at once. After all others Kueue, or a person, says when
(kueue: pkg/controller/jobframework, reconciler.go)."""
NO_RESERVATION = "The workload has no reservation"
"""As Kueue words it."""

Row = tuple[str, bool, str, str]


def ask(context: Context) -> Iterator[QueueAction]:
    """Queued: what brings the Workload to its admission."""
    workload = workload_of(context.plan, context.view)
    if not _working(context):
        for other in context.view.workloads.values():
            if other is not workload:
                yield from _discard(other)
    if context.view.queue_problem:
        return
    if workload is None:
        if context.plan.queue is not None and not context.view.workloads:
            yield EnsureWorkload()
    elif workload.deleting or workload.has(FINISHED):
        if not _working(context):
            yield from _discard(workload)
    elif workload.eviction and workload.reserved:
        if not _working(context):
            yield _released(context, workload, workload.eviction)
    elif context.plan.queue is not None and workload.queue != context.plan.queue.name and not workload.reserved:
        yield MoveWorkload(workload, context.plan.queue.name)  # a Workload with quota cannot be moved


def report(context: Context) -> Iterator[QueueAction]:
    """At work: whether all members are ready.

    It is said once per epoch. A member that is not ready for a moment is no recovery that Kueue should time.
    """
    workload = workload_of(context.plan, context.view) if context.view.workloads else None
    if workload is None or not workload.admitted:
        return
    tally, together = context.tally, context.plan.together
    ready = tally.ready + tally.succeeded
    said = workload.condition(PODS_READY)
    if context.record.phase in (Phase.RESTARTING, Phase.PENDING):
        if said is not None and said.true and ready < together:
            message = f"epoch {context.record.epoch} is being started"
            yield _patched(context, workload, (PODS_READY, False, "WaitForRecovery", message))
    elif ready >= together and not (said and said.true):
        reason = "Recovered" if said is not None and said.reason == "WaitForRecovery" else "Started"
        yield _patched(context, workload, (PODS_READY, True, reason, f"all {together} members are ready"))


def close(context: Context) -> Iterator[QueueAction]:
    """Finished or suspended: give the quota back once no pod runs."""
    if not context.view.workloads or _working(context) or context.plan.engine is Engine.OBSERVE:
        return
    record = context.record
    for workload in context.view.workloads.values():
        if record.phase is Phase.SUSPENDED or workload.deleting:
            yield from _discard(workload)
        elif not workload.has(FINISHED):
            reason = "Succeeded" if record.phase is Phase.SUCCEEDED else "Failed"
            yield _patched(context, workload, (FINISHED, True, reason, record.message))
        elif workload.held:
            yield ReleaseWorkload(workload)


def leave(context: Context) -> Iterator[QueueAction]:
    """Being deleted: give the quota back once no pod runs. Where the pods are to stay, Kueue is left to itself."""
    if not context.view.workloads or context.plan.engine is Engine.OBSERVE:
        return
    for workload in context.view.workloads.values():
        if context.plan.orphans:
            if workload.held:
                yield ReleaseWorkload(workload)
        elif not _working(context):
            yield from _discard(workload)


def _working(context: Context) -> bool:
    """A pod of the experiment may still run."""
    return any(tally.alive for tally in context.view.epochs.values())


def _discard(workload: Workload) -> Iterator[QueueAction]:
    """Delete the Workload, then let it go."""
    if not workload.deleting:
        yield DeleteWorkload(workload)
    elif workload.held:
        yield ReleaseWorkload(workload)


def _released(context: Context, workload: Workload, eviction: WorkloadCondition) -> PatchWorkloadStatus:
    """The quota is given back: what Kueue's reconciler of its own jobs writes."""
    gone = f"no pod of epoch {max(context.record.epoch - 1, 0)} runs any more"
    rows: list[Row] = [
        (QUOTA_RESERVED, False, "PendingEvaluation", gone),
        (ADMITTED, False, "NoReservation", NO_RESERVATION),
        (PODS_READY, False, "WaitForStart", gone),
        (REQUEUED, eviction.reason in REQUEUED_AT_ONCE, eviction.reason, gone),
    ]
    return replace_conditions(context, workload, rows, release=True)


def _patched(context: Context, workload: Workload, row: Row) -> PatchWorkloadStatus:
    return replace_conditions(context, workload, [row])


def replace_conditions(
    context: Context, workload: Workload, rows: list[Row], *, release: bool = False
) -> PatchWorkloadStatus:
    """The Workload's conditions with these rows; all others stay, and a time moves only with its status."""
    found = {each.type: each for each in workload.conditions}
    now = whole_time(context.now)
    for kind, true, reason, message in rows:
        status = "True" if true else "False"
        before = found.get(kind)
        since = before.since if before is not None and before.status == status else now
        found[kind] = WorkloadCondition(kind, status, reason, message, since, workload.generation)
    return PatchWorkloadStatus(workload, tuple(found.values()), release)
