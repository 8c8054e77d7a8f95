"""Diagnose an experiment: every member that is not there, or not at work, with one cause, grouped.

It looks at the members that are notable (missing from the roll, not started, failed, on a node that is not ready …) and
never at those that are there. The page, ``muster explain`` and the tests ask for all of them; the decision about a gang
that is stuck looks at a few (``failures.known``). The sentence of the status is bounded (``diagnosis.grouping``).
"""

from collections.abc import Iterable, Iterator
from itertools import chain, filterfalse, islice

from muster.state.facts.causes.heard import serves
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.behind_members import of_collectives
from muster.state.facts.diagnosis.coordinator import given_up, hang_as_recorded, of_coordinator
from muster.state.facts.diagnosis.finding import Finding
from muster.state.facts.diagnosis.grouping import diagnoses, grouped
from muster.state.facts.diagnosis.hanging_members import of_hang
from muster.state.facts.diagnosis.unnamed_members import of_count
from muster.state.view.stage import Stage, stage_of
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import RANKS_ENDED, Phase


def diagnose(context: Context, most: int | None = None) -> tuple[Finding, ...]:
    """The findings, the most decisive first; none for an experiment whose members are all there, or not wanted.

    Members with one cause, and one node or image or reason of it, are one finding. ``most``: members that are looked
    at, in a decision, which costs the same for any number of them.
    """
    record = context.record
    if record.finished or record.phase is Phase.SUSPENDED:
        return ()
    found = diagnoses(context, islice(_notable(context), most))
    most_named = most or context.plan.size
    behind = of_collectives(context, most_named)
    if context.probe is not None:
        behind = behind or of_hang(context, most_named)
        behind |= given_up(context, context.probe)
    found |= behind
    coordinator = context.plan.coordinator
    if coordinator is not None and not coordinator.probe.passive:
        wrong = of_coordinator(context, coordinator)
        if wrong is not None:
            found[coordinator.rank] = wrong
    if (hanging := hang_as_recorded(context)) is not None:
        found.setdefault(*hanging)
    counted = of_count(context, found)
    return (*grouped(context, found), *([counted] if counted else []))


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
