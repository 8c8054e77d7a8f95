"""The one classifier: the cause of a member, with its evidence, from its pod, its coordinator and what was refused.

The table (``causes.table``) has the consequences of a cause. ``why_missing`` is the sentence about one member; findings
group many (``diagnosis.grouping``).
"""

from muster.state.facts import admission, gates, older_pods, presence
from muster.state.facts.causes import table
from muster.state.facts.causes.cause import MissingCause, say
from muster.state.facts.causes.table import Causes
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.coordinator import of_coordinator
from muster.state.facts.diagnosis.finding import Diagnosis
from muster.state.facts.presence import Presence
from muster.state.facts.sentences import expected_name, of_lingering, placed, sentence, why_idle
from muster.state.facts.words import WORDS
from muster.state.view.stage import RUNS, WAITS, shown
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Phase
from muster.state.vocabulary.refusals import refusal_reason

_SAID = (Causes.INIT_CONTAINER, Causes.NETWORK_FAILS, Causes.VOLUME_FAILS)
"""Causes of waiting pods whose own words explain more than the reason for which the container waits."""


def of_member(context: Context, rank: int) -> Diagnosis:
    """Return why a member is missing or not at work."""
    pod = context.tally.members.get(rank)
    return without_pod(context, rank) if pod is None else of_pod(context, pod)


def of_pod(context: Context, pod: Pod) -> Diagnosis:
    """Return why a member with a pod has not arrived."""
    cause = table.of_pod(context, pod)
    if (wrong := _as_coordinator(context, pod, cause)) is not None:
        return wrong
    said = f"pod {pod.name}" + (f" on node {pod.node}" if pod.node else "")
    stage = shown(pod, pod.rank in context.tally.done).stage
    usual = f": {why_idle(pod)}" if stage in WAITS else table.otherwise(stage).evidence
    evidence = say(cause.evidence or usual, context, pod)
    node = pod.node if cause.names_node else ""
    return Diagnosis(cause, say(cause.what, context, pod), f"{said}{evidence}", node)


def _as_coordinator(context: Context, pod: Pod, cause: MissingCause) -> Diagnosis | None:
    """Return the coordinator's fault, if the member is the coordinator and its pod shows no fault."""
    coordinator = context.plan.asked
    if cause not in (Causes.GHOST, Causes.NOT_ARRIVED) or coordinator is None or coordinator.rank != pod.rank:
        return None
    return of_coordinator(context, coordinator)


def of_absent(context: Context) -> MissingCause | None:
    """Return the cause of every member without a pod; None if it is not the same for all."""
    record = context.record
    refusal = context.view.engine.refusal
    if refusal is not None and refusal_reason(refusal.reason) is not None:
        return table.of_refusal(refusal.reason)
    if record.phase is Phase.QUEUED:
        return Causes.QUEUED
    waits = record.phase is Phase.RESTARTING or not older_pods.clear(context)
    return Causes.HELD_BACK if waits else None


def without_pod(context: Context, rank: int) -> Diagnosis:
    """Return why a member has no pod."""
    plan, tally = context.plan, context.tally
    if rank in tally.done:
        return Diagnosis(Causes.ENDED, "ended with exit code 0", "its pod is gone, and it was recorded as succeeded")
    shared = of_absent(context)
    refusal = context.view.engine.refusal
    if refusal is not None and (row := refusal_reason(refusal.reason)) is not None:
        who = "Muster creates no pod" if row.ours else "the API server refuses what the pod needs"
        return Diagnosis(table.of_refusal(refusal.reason), f"{who}: {refusal.reason}", refusal.message)
    if shared is Causes.QUEUED:
        why = f": {stuck.reason}" if (stuck := context.record.called_stuck) is not None else ""
        said = context.record.message or admission.waiting(context).message  # readers of the status see no Workload
        return Diagnosis(Causes.QUEUED, f"waiting in a queue{why}", said)
    if shared is Causes.HELD_BACK:
        return _held_back(context)
    if presence.of(context, rank) is Presence.GONE:
        return Diagnosis(Causes.LOST, "the pod is gone", "its pod of this epoch no longer exists")
    group = plan.group_of(rank)
    if group is not None and group.gates and gates.closed(context, group):
        waiting = gates.awaited(context) or f"group {group.name} waits for the coordinator to serve"
        return Diagnosis(Causes.HELD_BACK, "waiting for another group or for the coordinator", waiting)
    if gates.awaits_leader(context, rank):
        why = "the first pod of its group is not ready"
        return Diagnosis(Causes.HELD_BACK, "waiting for the leader of its group", why)
    if plan.sequential and tally.working >= plan.together:
        return Diagnosis(Causes.HELD_BACK, "waiting for a turn", f"{plan.together} run at a time")
    return Diagnosis(Causes.NOT_CREATED, "no pod yet", WORDS[plan.engine].not_created)


def why_missing(context: Context, rank: int) -> str:
    """Return ``rank 2 (run-worker-0-2-x7k2p, running, but it has not called the coordinator)``."""
    pod = context.tally.members.get(rank)
    if pod is None:
        name = expected_name(context, context.plan.member(rank))
        return f"rank {rank} ({placed(context, rank, name)}, {without_pod(context, rank).cause.without_pod})"
    now_shown = shown(pod, rank in context.tally.done)
    cause, stage = table.of_what_shows(context, pod, now_shown), now_shown.stage
    if (wrong := _as_coordinator(context, pod, cause)) is not None:
        cause = wrong.cause
    waits = stage in WAITS or (stage in RUNS and pod.waiting_reason)  # to be started again: its program does not run
    shows = waits and cause not in _SAID
    why = why_idle(pod) if shows else say(cause.words or cause.what, context, pod)
    return f"rank {rank} ({placed(context, rank, pod.name)}, {why})"


def _held_back(context: Context) -> Diagnosis:
    cause = context.record.cause
    because = f"; {sentence(cause)}" if cause else ""
    if not older_pods.clear(context):
        what = "waiting for pods of an older epoch to terminate"
        return Diagnosis(Causes.HELD_BACK, what, f"{of_lingering(context)}{because}")
    return Diagnosis(Causes.HELD_BACK, "waiting for the back-off", f"epoch {context.record.epoch} is next{because}")
