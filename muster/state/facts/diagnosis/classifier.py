"""The one classifier: the cause of a member, with its evidence, from its pod, its coordinator and what was refused.

The table (``causes.table``) has the consequences of a cause. ``why_missing`` is the sentence about one member,
``by_cause`` counts a gang's missing ranks, and findings group members (``diagnosis.diagnose``).
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from muster.api.values.durations import count_of
from muster.api.values.rank_ranges import of_ranks
from muster.state.facts import admission, gates, presence, sentences
from muster.state.facts.causes import table
from muster.state.facts.causes.cause import MissingCause, needs_no_port, say, serves
from muster.state.facts.causes.table import BY_NAME, BY_PORT, ORDER, Causes
from muster.state.facts.context import Context
from muster.state.facts.presence import Presence
from muster.state.view.probe_result import ProbeResult
from muster.state.view.roll import RankState
from muster.state.view.stage import RUNS, WAITS, Stage, stage_of
from muster.state.view.view import View
from muster.state.vocabulary.group import Coordinator
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Phase, Record
from muster.state.vocabulary.refusals import refusal_reason


class Diagnosis(NamedTuple):
    """The cause of one missing member. Members with equal ``cause``, ``what`` and ``node`` are one finding."""

    cause: MissingCause
    what: str
    evidence: str
    node: str = ""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One cause, and the members that have it."""

    cause: MissingCause
    ranks: tuple[int, ...]
    """The ranks, ascending; empty if only their number is known."""
    count: int
    """The number of members with the cause: more than ``ranks`` if it is not known which they are."""
    what: str
    """The cause in a few words: ``node n7 is not ready``."""
    evidence: str
    """The proof: the pod, and the words of kubelet, scheduler, API server or coordinator."""
    next_step: str
    group: str = ""
    """The group of all these members; empty if they have several groups."""
    node: str = ""
    """Their node, if the node is the cause."""

    @property
    def who(self) -> str:
        """Return ``rank 3``, ``ranks 8-15``, ``ranks 0, 2, 4 and 936 more`` of a long list, ``2 ranks``."""
        if not self.ranks:
            return count_of(self.count, "rank")
        return of_ranks(self.ranks, sentences.NAMED_RANGES, self.count - len(self.ranks))

    @property
    def sentence(self) -> str:
        """Return ``ranks 8-15: node n7 is not ready``."""
        return f"{self.who}: {self.what}"


HEARTBEAT = 14
"""The gRPC code (UNAVAILABLE) with which a JAX coordinator gives a member up whose heartbeats stopped."""
_OF_RECORD = {
    cause.stuck_as: cause
    for cause in (Causes.COORDINATOR_UNREACHABLE, Causes.COORDINATOR_NOT_SERVING, Causes.PROCESS_COUNT)
}
"""Reasons of Stuck that are about the coordinator's port (``policies.rendezvous``)."""
_OF_PORT = frozenset(BY_PORT.values())


def of_coordinator(context: Context, coordinator: Coordinator) -> Diagnosis | None:
    """Return the fault of a coordinator whose program runs; None if it has none."""
    probe, pod = context.probe, context.tally.members.get(coordinator.rank)
    if pod is None or not pod.live or not pod.started or pod.terminating or pod.cut_off:
        return None
    address = context.plan.coordinator_address(context.record.epoch)
    if probe is None:
        if serves(context) or context.record.stuck_reason in _OF_RECORD:
            return _as_recorded(context)
        what = "the coordinator runs, but its port has not answered yet"
        return Diagnosis(Causes.COORDINATOR_NOT_SERVING, what, f"pod {pod.name} runs; nothing serves at {address}")
    answer, size = probe.answer, context.plan.expected
    if probe.serving:
        if answer.lacks:
            return _reported(Causes.DASHBOARD_NOT_SERVING, f"pod {pod.name} runs; {answer.lacks}")
        if answer.expected is None or answer.expected == size:
            return None
        processes = count_of(answer.expected, "process")
        what = f"the coordinator waits for {processes}, the gang has {size}"
        return Diagnosis(Causes.PROCESS_COUNT, what, f"pod {pod.name} at {address} lists {processes}")
    if needs_no_port(coordinator, probe) or probe.present(context.now):
        return None
    cause = BY_PORT[answer.coordinator]
    before = "; it served before in this epoch" if probe.last_served_at else ""
    evidence = sentences.with_message(
        f"pod {pod.name} runs; probe of {address}: {answer.coordinator}{before}", answer.detail
    )
    return _reported(cause, evidence)


def _as_recorded(context: Context) -> Diagnosis | None:
    """Return the record's cause for a reader that has not asked the coordinator: a new daemon, or a client."""
    stuck = context.record.called_stuck
    if stuck is None or (cause := _OF_RECORD.get(stuck.reason)) is None:
        return None
    if cause is Causes.PROCESS_COUNT:
        return Diagnosis(cause, stuck.message, stuck.message)
    known = BY_NAME.get(context.record.known.cause) if context.record.known is not None else None
    return _reported(known if known in _OF_PORT else cause, stuck.message)


def _reported(cause: MissingCause, evidence: str) -> Diagnosis:
    """Return the diagnosis of that cause in the words of its row."""
    return Diagnosis(cause, str(cause.what), evidence)


def given_up(context: Context, probe: ProbeResult) -> dict[int, Diagnosis]:
    """Return the members that the coordinator gave up, or that have left it while others have not."""
    found: dict[int, Diagnosis] = {}
    members = context.tally.members
    for error in probe.answer.errors:
        pod = members.get(error.rank)
        if pod is None or not pod.live or pod.terminating or pod.cut_off or pod.failed:
            continue  # the state of its pod explains more
        report = f"pod {pod.name} runs; the coordinator reports: {error.text}"
        if error.code == HEARTBEAT or probe.answer.protocol == "ray":
            found[error.rank] = _reported(Causes.HEARTBEAT_LOST, report)
        else:
            found[error.rank] = _reported(Causes.GIVEN_UP, report)
    if probe.leaving and RankState.CONNECTED in probe.answer.states:
        for rank in probe.answer.left:
            where = f"pod {members[rank].name}" if rank in members else "its pod is gone"
            found[rank] = _reported(Causes.LEFT, where)
    return found


_SAID = (Causes.INIT_CONTAINER, Causes.NETWORK_FAILS, Causes.VOLUME_FAILS)
"""Causes of waiting pods whose own words explain more than the reason for which the container waits."""


def of_member(context: Context, rank: int) -> Diagnosis:
    """Return why a member is missing or not at work."""
    pod = context.tally.members.get(rank)
    return without_pod(context, rank) if pod is None else of_pod(context, pod)


def of_pod(context: Context, pod: Pod) -> Diagnosis:
    """Return why a member with a pod has not arrived."""
    cause, coordinator = table.of_pod(context, pod), context.plan.asked
    if coordinator is not None and coordinator.rank == pod.rank and cause in (Causes.GHOST, Causes.NOT_ARRIVED):
        wrong = of_coordinator(context, coordinator)  # its pod shows no fault
        if wrong is not None:
            return wrong
    where = f"pod {pod.name}" + (f" on node {pod.node}" if pod.node else "")
    stage = stage_of(pod, pod.rank in context.tally.done)
    usual = f": {sentences.why_idle(pod)}" if stage in WAITS else table.OTHERWISE[stage].evidence
    evidence = say(cause.evidence or usual, context, pod)
    node = pod.node if cause.names_node else ""
    return Diagnosis(cause, say(cause.what, context, pod), f"{where}{evidence}", node)


def of_absent(context: Context) -> MissingCause | None:
    """Return the cause of every member without a pod; None if it is not the same for all."""
    record = context.record
    refusal = context.view.engine.refusal
    if refusal is not None and refusal_reason(refusal.reason) is not None:
        return table.of_refusal(refusal.reason)
    if record.phase is Phase.QUEUED:
        return Causes.QUEUED
    waits = record.phase is Phase.RESTARTING or not presence.none_older(context)
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
        evidence = context.record.message or admission.waiting(context).message  # readers of the status see no Workload
        return Diagnosis(Causes.QUEUED, f"waiting in a queue{why}", evidence)
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
    return Diagnosis(Causes.NOT_CREATED, "no pod yet", sentences.WORDS[plan.engine].not_created)


def why_missing(context: Context, rank: int) -> str:
    """Return ``rank 2 (run-worker-0-2-x7k2p, running, but it has not called the coordinator)``."""
    pod = context.tally.members.get(rank)
    if pod is None:
        name = sentences.expected_name(context, context.plan.member(rank))
        return f"rank {rank} ({sentences.placed(context, rank, name)}, {without_pod(context, rank).cause.without_pod})"
    cause, stage = table.of_pod(context, pod), stage_of(pod, rank in context.tally.done)
    waits = stage in WAITS or (stage in RUNS and pod.waiting_reason)  # to be started again: its program does not run
    shows = waits and cause not in _SAID
    why = sentences.why_idle(pod) if shows else say(cause.words or cause.what, context, pod)
    return f"rank {rank} ({sentences.placed(context, rank, pod.name)}, {why})"


def _held_back(context: Context) -> Diagnosis:
    cause = context.record.cause
    because = f"; {sentences.sentence(cause)}" if cause else ""
    if not presence.none_older(context):
        what = "waiting for pods of an older epoch to terminate"
        return Diagnosis(Causes.HELD_BACK, what, f"{sentences.of_lingering(context)}{because}")
    return Diagnosis(Causes.HELD_BACK, "waiting for the back-off", f"epoch {context.record.epoch} is next{because}")


def by_cause(plan: Plan, record: Record, view: View, missing: int) -> Mapping[MissingCause, int]:
    """Return the number of ``missing`` ranks for each cause that some have; they add up to ``missing``.

    The causes are those of counts that the view keeps (``view.tally``), so they cost the same for 8 members as for
    10,000. A rank without a pod has the cause for which its pod is missing.

    Without an answer of the coordinator in this epoch (a daemon that has just started), the number of arrived ranks is
    known, but not which they are. Then those that have come furthest count as arrived.
    """
    counts = view.of(record.epoch).missing
    here = (Stage.READY, Stage.ENDED) if plan.asked is None else ()
    found: Counter[MissingCause] = Counter()
    left = missing
    for shows in sorted(counts, key=lambda shows: (shows.stage, ORDER[table.of_shown(shows)])):
        count = min(counts[shows], left) if shows.stage not in here else 0
        if count > 0:
            found[table.counted(table.of_shown(shows))] += count
            left -= count
    if left:
        found.update(_without_pods(Context.at(plan, record, view, 0.0), left))
    return found


def _without_pods(context: Context, absent: int) -> Mapping[MissingCause, int]:
    if (shared := of_absent(context)) is not None:
        return {table.counted(shared): absent}
    held = min(absent, gates.held_back(context))
    together = context.launched and not context.plan.sequential
    lost = absent - held if together else min(absent - held, len(context.tally.gone))
    counts = {Causes.HELD_BACK: held, Causes.LOST: lost, Causes.NOT_CREATED: absent - held - lost}
    return {cause: count for cause, count in counts.items() if count}
