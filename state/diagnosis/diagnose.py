"""Diagnose an experiment: every member that is not there, or not at work, with one cause, grouped.

It looks at the members that are notable (missing from the roll, not started, failed, on a node that is not ready …) and
never at those that are there; ``MOST`` bounds how many, and counts stand for the rest. It is not part of a decision:
the page, ``muster explain`` and the tests ask for it.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, filterfalse, islice

from muster.state.context import Context
from muster.state.diagnosis.cause import ORDER
from muster.state.diagnosis.finding import Finding
from muster.state.diagnosis.next_steps import NEXT
from muster.state.diagnosis.of_hang import of_hang
from muster.state.diagnosis.of_member import Diagnosis, given_up, hung_rank, of_coordinator, of_pod, serves, without_pod
from muster.state.policies.blocked import RANKS_ENDED
from muster.state.record import Phase
from muster.state.view.pod import Pod
from muster.state.view.stage import Stage, stage_of

MOST = 2048
"""Members that are looked at."""


def diagnose(context: Context, most: int = MOST) -> tuple[Finding, ...]:
    """The findings, the most decisive first; none for an experiment whose members are all there, or not wanted.

    Members with one cause, and one node or image or reason of it, are one finding.
    """
    record = context.record
    if record.finished or record.phase is Phase.SUSPENDED:
        return ()
    found: dict[int, Diagnosis] = {}
    for rank in islice(_notable(context), most):
        pod = context.tally.members.get(rank)
        found[rank] = without_pod(context, rank) if pod is None else of_pod(context, pod)
    if context.probe is not None:
        found |= of_hang(context, most) | given_up(context, context.probe)
    coordinator = context.plan.coordinator
    if coordinator is not None and not coordinator.probe.passive:
        wrong = of_coordinator(context, coordinator)
        if wrong is not None:
            found[coordinator.rank] = wrong
    if (hanging := hung_rank(context)) is not None:
        found.setdefault(*hanging)
    return tuple(_grouped(context, found))


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
    for pod in chain.from_iterable(held.values() for held in waiting):
        if pod.rank not in tally.ignored:
            yield pod.rank
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
    elif not probe.answer.partial:
        yield from probe.answer.missing


def _unready(pod: Pod, done: bool) -> bool:
    return stage_of(pod, done) in (Stage.RUNNING, Stage.UNKNOWN)
