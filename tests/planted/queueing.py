"""Bugs in what an experiment does in a queue."""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from muster.state.decide import observe
from muster.state.facts import admission
from muster.state.facts.context import Context
from muster.state.policies import deadline, queueing
from muster.state.policies.verdicts import Requeue, Restart
from muster.state.view.view import View
from muster.state.vocabulary.actions import PatchWorkloadStatus, QueueAction, ReleaseWorkload
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Phase, Record
from muster.state.vocabulary.rules import ClockRule
from tests.planted.bug import Hunt, Swaps, bug, instead_of, swap


@bug(Hunt("clean", "queue-one-by-one"), Hunt("clean", "queue-admits-late"), shown_by="no queue admits")
def unadmitted_pods_created() -> Swaps:
    """Pods are created as soon as there is a Workload, admitted or not."""

    def admitted(plan: Plan, view: View) -> bool:
        return plan.queue is None or bool(view.workloads)

    return [swap(admission, "admitted", admitted), swap(queueing, "read_admission", lambda context: None)]


@bug(Hunt("clean", "queue-preempts"), Hunt("clean", "queue-deleted"), Hunt("clean", "queue-drained"))
def quota_given_back_early() -> Swaps:
    """The quota is given back while pods still end."""
    return [swap(queueing, "_working", lambda context: False)]


@bug(Hunt("clean", "queue-preempts"), Hunt("clean", "queue-drained"))
@instead_of(queueing, "ask")
def quota_kept_after_an_eviction(ask: Any, context: Context) -> Iterator[QueueAction]:
    """The pods of an evicted gang go, and its quota stays reserved."""
    return (each for each in ask(context) if not isinstance(each, PatchWorkloadStatus))


@bug(Hunt("clean", "queue-preempts"), Hunt("clean", "queue-deactivates"))
@instead_of(queueing, "judge")
def eviction_charged(judge: Any, context: Context) -> Requeue | Restart | None:
    """An eviction by the queue is a restart of the budget."""
    verdict = judge(context)
    return Restart(verdict.cause, counted=True) if verdict else None


@bug(Hunt("clean", "queue-deadline"))
@instead_of(deadline, "running")
def no_clock_in_the_queue(running: Any, plan: Plan, record: Record) -> list[tuple[ClockRule, float]]:
    """No clock runs in the queue, not even the total."""
    return [] if record.phase is Phase.QUEUED else running(plan, record)


@bug(Hunt("clean", "queue-admits-late"))
@instead_of(observe, "_progress")
def every_clock_in_the_queue(progress: Any, seen: observe.Observation, begins: Any, begins_at: Any) -> Any:
    """The clock over nodes runs from the submission on, also in the queue."""
    record = progress(seen, begins, begins_at)
    entered = seen.record.phase is Phase.QUEUED and record.phase is Phase.PENDING
    return replace(record, epoch_at=record.started_at) if entered else record


@bug(Hunt("clean", "queue-keeps-place"))
@instead_of(queueing, "report")
def place_lost_by_a_restart(report: Any, context: Context) -> Any:
    """A restart of the gang gives its quota back and queues anew."""
    if context.record.phase is not Phase.RESTARTING:
        return report(context)
    return queueing.close(context.with_record(replace(context.record, phase=Phase.SUSPENDED)))


@bug(Hunt("clean", "queue-one-by-one"), Hunt("clean", "queue-deleted"))
def finalizer_left() -> Swaps:
    """The finalizer of a Workload is never removed."""

    close = queueing.close

    def holding(context: Context) -> Iterator[QueueAction]:
        return (each for each in close(context) if not isinstance(each, ReleaseWorkload))

    return [swap(queueing, "close", holding)]
