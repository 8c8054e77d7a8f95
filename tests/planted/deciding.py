"""Bugs in decisions: epochs, failures, the barrier, clocks."""

from typing import Any

from msgspec.structs import replace

from muster.daemon.experiments.index import ExperimentIndex
from muster.daemon.steps import controller as controller
from muster.daemon.steps.status_writer import StatusWriter
from muster.state.decide import machine
from muster.state.facts import gates, presence
from muster.state.facts.context import Context
from muster.state.facts.failure_cause import cause_of
from muster.state.policies import barrier, deadline, ending, restart, startup
from muster.state.policies.verdicts import Fail, Repair, Restart
from muster.state.view.view import View
from muster.state.vocabulary.actions import DeletePods, StopPods
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Phase, Record
from muster.state.vocabulary.rules import ClockRule
from muster.tracking.entry import Entry
from tests.planted.bug import Hunt, Swaps, bug, instead_of, swap

PATIENCE = 4.0
"""Seconds for which old pods are left alone."""


@bug(Hunt("crash", "member-fails"), Hunt("two-crashes", "member-fails"), Hunt("stale", "member-fails"))
def epoch_in_memory() -> Swaps:
    """Epoch and restarts are counted in memory only: a new daemon does not read them back."""
    take, write = ExperimentIndex._take, StatusWriter.write

    def forgetful(self: ExperimentIndex, entry: Entry, reading: Any) -> None:
        held = entry.record
        take(self, entry, reading)
        if entry.record is not None:
            counts = (held.epoch, held.restarts, held.disruptions) if held else (0, 0, 0)
            epoch, restarts, disruptions = counts
            entry.record = replace(entry.record, epoch=epoch, restarts=restarts, disruptions=disruptions)

    async def remembering(self: StatusWriter, entry: Entry, record: Record, *rest: Any) -> None:
        await write(self, entry, record, *rest)
        if entry.record is not None:
            counts = {"epoch": record.epoch, "restarts": record.restarts, "disruptions": record.disruptions}
            entry.record = replace(entry.record, **counts)

    return [swap(ExperimentIndex, "_take", forgetful), swap(StatusWriter, "write", remembering)]


@bug(Hunt("clean", "member-fails"), Hunt("clean", "coordinator-fails"), Hunt("hold", "member-fails"))
def failures_by_edge() -> Swaps:
    """Each pod that turns to Failed is one failure, whatever its epoch and its cause."""
    edges: dict[int, tuple[View, list[Pod]]] = {}
    change, judge = View.change, restart.judge

    def watching(self: View, old: Pod | None, new: Pod | None) -> None:
        change(self, old, new)
        if new is not None and new.failed and not (old is not None and old.failed):
            edges.setdefault(id(self), (self, []))[1].append(new)

    def counting(case: Context) -> Restart | Repair | Fail | None:
        verdict = judge(case)
        if isinstance(verdict, Restart) and verdict.cause.disruption:
            return verdict
        _, waiting = edges.get(id(case.view), (case.view, []))
        return restart.spend(case, cause_of(case, waiting.pop(0))) if waiting else None

    return [swap(View, "change", watching), swap(restart, "judge", counting)]


@bug(Hunt("clean", "node-lost-blocks"), Hunt("clean", "survivors-hang"), Hunt("crash", "node-lost-blocks", most=10))
def no_barrier() -> Swaps:
    """An epoch begins while pods of another one may still run."""
    return [swap(presence, "none_older", lambda case: True)]


@bug(Hunt("clean", "suspended"), Hunt("crash", "suspended", most=10))
@instead_of(barrier, "end")
def suspended_pods_stay(end: Any, context: Context) -> list[StopPods | DeletePods]:
    """A suspended experiment's pods are not deleted."""
    return [] if context.record.phase is Phase.SUSPENDED else end(context)


@bug(Hunt("clean", "cancelled"), Hunt("crash", "cancelled", most=10))
@instead_of(barrier, "end")
def cancelled_pods_stay(end: Any, context: Context) -> list[StopPods | DeletePods]:
    """A cancelled experiment's pods are not deleted."""
    return [] if context.record.reason == "Cancelled" else end(context)


@bug(Hunt("clean", "survivors-hang"), shown_by="is not gone")
@instead_of(barrier, "sweep")
def endless_grace(sweep: Any, context: Context) -> list[DeletePods]:
    """Survivors of a broken gang get an hour of grace, which those that ignore SIGTERM use."""
    return [replace(each, grace=3600) for each in sweep(context)]


@bug(Hunt("clean", "survivors-hang"), shown_by="is not asked to go")
@instead_of(barrier, "sweep")
def swept_late(sweep: Any, context: Context) -> list[DeletePods]:
    """Pods of an older epoch are deleted only after a while."""
    return sweep(context) if context.now > context.record.phase_at + PATIENCE else []


@bug(Hunt("clean", "coordinator-first"), Hunt("hold", "coordinator-first", most=10))
def coordinator_first_ignored() -> Swaps:
    """All members are created at once, whatever startup.order says."""
    return [swap(gates, "gate_open", lambda context, gate: True)]


@bug(Hunt("clean", "staged", operator="jobset"), Hunt("crash", "staged", operator="jobset", most=10))
def gates_between_groups_ignored() -> Swaps:
    """A group does not wait for the groups that it depends on."""
    gate_open = gates.gate_open
    return [swap(gates, "gate_open", lambda context, gate: bool(gate.group) or gate_open(context, gate))]


@bug(Hunt("clean", "shared-volume"), shown_by="before its claim")
def claim_forgotten() -> Swaps:
    """Members are created without the claim of the volume that they mount."""
    return [swap(startup, "_claims_due", lambda context: False)]


@bug(Hunt("clean", "ttl"), shown_by="before its ttl is over")
@instead_of(ending, "_scheduled")
def ttl_from_the_start(scheduled: Any, context: Context) -> Any:
    """The ttl of a finished experiment counts from its start."""
    at, retention = scheduled(context)
    began = context.record.started_at
    return at if at is None or began is None else began + (context.plan.lifecycle.ttl or 0.0), retention


@bug(Hunt("clean", "ttl-zero"), shown_by="are being stopped")
def deleted_before_its_end() -> Swaps:
    """An experiment that is cancelled is deleted at once, with the pods that it is still to stop."""
    return [swap(ending, "wake_at", lambda context: context.record.delete_at)]


@bug(Hunt("late-list", "unschedulable-restarts"))
def late_cache_believed() -> Swaps:
    """An expired clock ends what the cache shows, without a live read of what has happened meanwhile."""
    return [swap(deadline, "unsure", lambda case, name: False)]


@bug(Hunt("drop", "two-fail"))
def charged_unseen() -> Swaps:
    """The first failure in the cache is charged, without a live read of what came before it."""
    return [swap(restart, "unsure", lambda case, cause: False)]


@bug(Hunt("crash", "never-arrives-fails"), Hunt("crash", "total-passes"), Hunt("crash", "unschedulable-fails"))
def deadline_in_a_timer() -> Swaps:
    """A clock starts when this daemon first sees it, instead of at the persisted time."""
    firsts: dict[tuple[int, str, int], float] = {}
    looking: list[tuple[View, float]] = []
    views: list[View] = []
    running, decide = deadline.running, machine.decide

    def deciding(plan_: Plan, record: Record | None, view: View, now: float, *, step: float = 0.0) -> machine.Decision:
        views.append(view)  # keeps it alive, so that its id is never reused
        looking[:] = [(view, now)]
        return decide(plan_, record, view, now, step=step)

    def timed(plan_: Plan, record: Record) -> list[tuple[ClockRule, float]]:
        view, now = looking[0]
        return [
            (rule, firsts.setdefault((id(view), rule.name.value, record.epoch), now) + rule.after)
            for rule, _ in running(plan_, record)
        ]

    return [swap(deadline, "running", timed), swap(controller, "decide", deciding)]
