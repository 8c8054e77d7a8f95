"""Kueue's answer about an experiment's Workload: whether its pods may run, and the reason if they may not."""

from typing import NamedTuple

from muster.api.values.printable import MESSAGE, clean
from muster.api.values.timestamps import whole_time
from muster.state.facts.context import Context
from muster.state.view.view import View
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Phase
from muster.state.vocabulary.workload import ADMITTED, FINISHED, QUOTA_RESERVED, REQUEUED, PodSetPlacement, Workload

SILENCE = 60.0
"""Seconds within which Kueue processes a Workload; it takes some 15 ms."""
UNAVAILABLE = "QueueUnavailable"
"""Reason: no Workload can be seen or created."""
SILENT = "QueueSilent"
"""Reason: Kueue has not processed the Workload."""
HOPELESS = frozenset(("ExceedsMaxQuota", "Misconfigured", "Inadmissible"))
"""Reasons of a false QuotaReserved that last until a person changes the spec or the queue. Older releases of Kueue have
Inadmissible for all of them (kueue: apis/kueue/v1beta2/workload_types.go)."""
DEACTIVATED = "Deactivated"
"""Beginning of the reasons of a Workload with ``spec.active: false``: DeactivatedDueToRequeuingLimitExceeded and others
follow. Kueue never makes it active again by itself."""


class QueueWait(NamedTuple):
    """The reason why an experiment is queued."""

    message: str
    reason: str = ""
    """The reason of Stuck; empty if the experiment is not stuck."""
    look_again: float | None = None
    """The time at which the answer changes without any event."""


def applies(context: Context) -> bool:
    """Return True if the experiment waits for a queue's admission."""
    return context.plan.queue is not None or bool(context.view.workloads)


def workload_of(plan: Plan, view: View) -> Workload | None:
    """Return the Workload that decides: the newest one for the podSets of this plan."""
    wanted = plan.queue.workload if plan.queue else ""
    found = [each for each in view.workloads.values() if not wanted or each.name == wanted]
    return max(found, key=lambda each: (not each.deleting, each.created, each.uid), default=None)


def admitted(plan: Plan, view: View) -> bool:
    """Return True if pods of the plan may run: it has no queue, or its Workload is admitted."""
    if plan.queue is None and not view.workloads:
        return True
    workload = workload_of(plan, view)
    return workload is not None and workload.admitted and not view.queue_problem


def admits(context: Context) -> bool:
    """Return True if pods of the experiment may be created."""
    return admitted(context.plan, context.view)


def waiting(context: Context) -> QueueWait:
    """Return the reason why the experiment is queued, in Kueue's words."""
    if context.view.queue_problem:
        return QueueWait(context.view.queue_problem, UNAVAILABLE)
    workload = workload_of(context.plan, context.view)
    if workload is None or workload.deleting or workload.has(FINISHED):
        return QueueWait("queued: its Workload is about to be made")
    return _as_kueue_says(context, workload)


def held(context: Context) -> QueueWait | None:
    """Return, in Kueue's words, why Kueue has suspended an object; None for an object without a queue.

    Kueue resumes such an object when it admits its Workload, also if a person has suspended it.
    """
    label, workload = context.plan.watching.local_queue, context.view.admission
    if context.record.phase is not Phase.SUSPENDED or not (label or workload):
        return None
    which = f"its queue label names {label}" if workload is None or label else f"its Workload is in {workload.queue}"
    if context.view.queue_problem or (workload is not None and (workload.deleting or workload.has(FINISHED))):
        return QueueWait(f"suspended, and {which}: Kueue decides when it continues")
    if workload is not None:
        return _as_kueue_says(context, workload)
    due = context.record.phase_at + SILENCE
    message = f"suspended, and {which}: Kueue has made no Workload for it yet"
    if context.now < due:
        return QueueWait(message, look_again=due)
    kind = context.plan.subject.kind
    look = f"see whether Kueue's controller runs, and manages {kind}s in this namespace"
    return QueueWait(f"{message}, for more than {SILENCE:g} s; {look}", SILENT)


def _as_kueue_says(context: Context, workload: Workload) -> QueueWait:
    """Return the reason why a Workload is not admitted.

    While nothing changes, Kueue writes nothing, and neither does a dead Kueue. So a message that is older than
    ``SILENCE`` is shown with its time.
    """
    where = f"queued in {workload.queue}"
    reserved = workload.condition(QUOTA_RESERVED)
    if (eviction := workload.eviction) and workload.reserved:
        return QueueWait(f"evicted from {workload.queue} ({eviction.reason}): {quoted(eviction.message)}")
    if workload.admitted:
        return QueueWait(f"admitted by {workload.queue}")
    if reserved is None:
        return _silent(context, workload)
    if reserved.true:
        checks = workload.condition(ADMITTED)
        return QueueWait(f"{where}: quota is reserved ({quoted(checks.message) if checks else 'admission follows'})")
    message = f"{where}: {quoted(reserved.message)}"
    older_at = workload.kueue_wrote + SILENCE if workload.kueue_wrote else None
    if older_at is not None and context.now >= older_at:
        at, older_at = whole_time(workload.kueue_wrote), None
        message = f"{message}; by its managedFields Kueue last wrote the Workload's status at {at}"
    requeued = workload.condition(REQUEUED)
    if requeued is not None and not requeued.true:
        message = f"{message}; not in the queue again yet ({requeued.reason})"
    if reserved.reason in HOPELESS or reserved.reason.startswith(DEACTIVATED):
        return QueueWait(message, reserved.reason)
    return QueueWait(message, look_again=older_at)


def placement(context: Context) -> tuple[PodSetPlacement, ...]:
    """Return the node selectors and tolerations of this epoch's pods, from the admission's flavors."""
    known = context.view.engine.placement if applies(context) else None
    return known.groups if known is not None and known.epoch == context.record.epoch else ()


def _silent(context: Context, workload: Workload) -> QueueWait:
    """Return the wait of a Workload without conditions: Kueue writes them within milliseconds of seeing it."""
    due = max(workload.created, context.record.phase_at) + SILENCE
    message = f"queued in {workload.queue}: Kueue has not taken up its Workload {workload.name} yet"
    if context.now < due:
        return QueueWait(message, look_again=due)
    return QueueWait(f"{message}, for more than {SILENCE:g} s; see whether Kueue's controller runs", SILENT)


def quoted(message: str) -> str:
    """Return Kueue's message on one line of bounded length."""
    return clean(message, MESSAGE)
