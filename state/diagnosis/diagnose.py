"""Diagnose an experiment: every member that is not there, or not at work, with one cause, grouped.

It looks at the members that are notable (missing from the roll, not started, failed, on a node that is not ready …) and
never at those that are there. Members that look alike are diagnosed once. It is not part of a decision: the page,
``muster explain`` and the tests ask for it.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, filterfalse

from muster.state.context import Context
from muster.state.diagnosis.cause import ORDER
from muster.state.diagnosis.finding import Diagnosis, Finding
from muster.state.diagnosis.next_steps import NEXT
from muster.state.diagnosis.of_coordinator import given_up, hang_as_recorded, of_coordinator, serves
from muster.state.diagnosis.of_hang import of_hang
from muster.state.diagnosis.of_member import of_pod, without_pod
from muster.state.policies.obstacles import RANKS_ENDED
from muster.state.record import Phase
from muster.state.view.pod import Pod, PodPhase
from muster.state.view.stage import Stage, stage_of


def diagnose(context: Context) -> tuple[Finding, ...]:
    """The findings, the most decisive first; none for an experiment whose members are all there, or not wanted.

    Members with one cause, and one node or image or reason of it, are one finding.
    """
    record = context.record
    if record.finished or record.phase is Phase.SUSPENDED:
        return ()
    found: dict[int, Diagnosis] = {}
    alike: dict[tuple[object, ...], Diagnosis] = {}
    for rank in _notable(context):
        pod = context.tally.members.get(rank)
        key = _looks(context, rank, pod)
        if key not in alike:
            alike[key] = without_pod(context, rank) if pod is None else of_pod(context, pod)
        found[rank] = alike[key]
    if context.probe is not None:
        found |= of_hang(context, context.plan.size) | given_up(context, context.probe)
    coordinator = context.plan.coordinator
    if coordinator is not None and not coordinator.probe.passive:
        wrong = of_coordinator(context, coordinator)
        if wrong is not None:
            found[coordinator.rank] = wrong
    if (hanging := hang_as_recorded(context)) is not None:
        found.setdefault(*hanging)
    return tuple(_grouped(context, found))


def _looks(context: Context, rank: int, pod: Pod | None) -> tuple[object, ...]:
    """What the diagnosis of a member depends on, but for its evidence: members that share it are one finding."""
    tally, coordinator = context.tally, context.plan.coordinator
    group, done = context.plan.group_of(rank), rank in tally.done
    name = group.name if group else ""
    if pod is None:
        return name, done, rank in tally.gone
    meets = coordinator is not None and coordinator.rank == rank
    said = (pod.waiting_reason, pod.waiting_message, pod.holder, pod.disruption, pod.exit, pod.restarts)
    node = pod.node if pod.cut_off or pod.disruption or pod.phase is PodPhase.UNKNOWN else ""
    return name, stage_of(pod, done), meets, node, pod.sandboxed, pod.ready, *said


def _grouped(context: Context, found: dict[int, Diagnosis]) -> Iterator[Finding]:
    """The findings in their order: by cause, and then by the first rank."""
    shared: dict[tuple[str, str, str], list[int]] = {}
    for rank in sorted(found):
        each = found[rank]
        shared.setdefault((each.cause, each.what, each.node), []).append(rank)
    for ranks in sorted(shared.values(), key=lambda ranks: (ORDER[found[ranks[0]].cause], ranks[0])):
        first = found[ranks[0]]
        groups = {group.name for rank in ranks if (group := context.plan.group_of(rank))}
        yield Finding(
            cause=first.cause,
            ranks=tuple(ranks),
            count=len(ranks),
            what=first.what,
            evidence=first.evidence,
            next_step=NEXT[first.cause].next_step,
            group=groups.pop() if len(groups) == 1 else "",
            node=first.node,
        )


def _notable(context: Context) -> Iterator[int]:
    """The ranks to be looked at, each once."""
    seen: set[int] = set()
    for rank in chain(_away(context), _from_roll(context)):
        if rank not in seen:
            seen.add(rank)
            yield rank


def _away(context: Context) -> Iterator[int]:
    """Ranks whose pod shows that they are not at work, and ranks without a pod."""
    tally, record = context.tally, context.record
    waiting = (tally.cut_off, tally.failed, tally.idle, tally.leaving)
    yield from (pod.rank for held in waiting for pod in held.values())  # the tally holds no rank that is given up there
    ranks: Iterable[int] = range(context.plan.size)
    if tally.pods < context.plan.size:
        for rank in filterfalse(tally.members.__contains__, ranks):
            if rank not in tally.collected:
                yield rank
    yield from (pod.rank for pod in tally.restarted.values() if not pod.ready)
    if record.blocked is not None and record.blocked.reason == RANKS_ENDED:
        yield from sorted(tally.done)


def _from_roll(context: Context) -> Iterator[int]:
    """Ranks that the roll does not have, or, where no coordinator can be asked, whose pod is not ready."""
    coordinator, tally = context.plan.coordinator, context.tally
    if coordinator is None or coordinator.probe.passive:
        if tally.ready + tally.succeeded < tally.started:
            yield from (rank for rank, pod in tally.members.items() if _unready(pod, rank in tally.done))
    elif not serves(context):
        yield from tally.members
    elif (probe := context.probe) is None:
        yield from context.record.roll.missing if context.record.roll else ()
    elif not probe.answer.partial and probe.arrived < context.plan.size:
        yield from probe.answer.missing


def _unready(pod: Pod, done: bool) -> bool:
    return stage_of(pod, done) in (Stage.RUNNING, Stage.UNKNOWN)
