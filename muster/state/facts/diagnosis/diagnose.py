"""Diagnose an experiment: every member that is missing, or not at work, with one cause, grouped.

It reads the notable members (missing from the roll, not started, failed, on a node that is not ready …) and never
the others. The page, ``muster explain`` and the tests ask for all of them; the decision about a gang
that is stuck reads a few (``failures.known``). The sentence of the status is bounded (``diagnosis.grouping``).
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain, filterfalse, islice

from muster.api.values.rank_ranges import to_ranges
from muster.state.facts.causes.heard import serves
from muster.state.facts.causes.table import Causes
from muster.state.facts.context import Context
from muster.state.facts.diagnosis import hangs
from muster.state.facts.diagnosis.coordinator import given_up, of_coordinator
from muster.state.facts.diagnosis.finding import Finding
from muster.state.facts.diagnosis.grouping import diagnoses, grouped
from muster.state.facts.diagnosis.next_steps import next_step
from muster.state.facts.hang import HUNG
from muster.state.facts.sentences import NAMED_RANGES
from muster.state.view.stage import Stage, stage_of
from muster.state.vocabulary.record import RANKS_ENDED, Phase


def diagnose(context: Context, most: int | None = None) -> tuple[Finding, ...]:
    """Return the findings, the most decisive first; none if all members are at work, or not wanted.

    Members with one cause, and one node or image or reason of it, are one finding. ``most``: members that are read
    in a decision, which costs the same for any number of them.
    """
    record = context.record
    if record.finished or record.phase is Phase.SUSPENDED:
        return ()
    found = diagnoses(context, islice(_notable(context), most))
    found |= hangs.diagnoses(context, most or context.plan.size)
    if context.probe is not None:
        found |= given_up(context, context.probe)
    if (coordinator := context.plan.asked) is not None:
        wrong = of_coordinator(context, coordinator)
        if wrong is not None:
            found[coordinator.rank] = wrong
    found = hangs.as_recorded(context, HUNG) | found
    counted = _of_count(context, found)
    return (*grouped(context, found), *([counted] if counted else []))


def _notable(context: Context) -> Iterator[int]:
    """Yield the ranks to read, each once."""
    seen: set[int] = set()
    for rank in chain(_away(context), _from_roll(context)):
        if rank not in seen:
            seen.add(rank)
            yield rank


def _away(context: Context) -> Iterator[int]:
    """Yield ranks whose pod shows that they are not at work, and ranks without a pod."""
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
        yield from sorted(rank for rank in tally.done if rank != context.plan.submitter)


def _from_roll(context: Context) -> Iterator[int]:
    """Yield ranks missing from the roll, or, if no coordinator can be asked, ranks whose pod is not ready."""
    tally = context.tally
    if context.plan.asked is None:
        if tally.ready + tally.succeeded < tally.started:
            for rank, pod in tally.members.items():
                if stage_of(pod, rank in tally.done) in (Stage.RUNNING, Stage.UNKNOWN):
                    yield rank
    elif not serves(context):
        yield from tally.members
    elif (probe := context.probe) is None:
        yield from context.record.roll.missing if context.record.roll else ()
    elif not probe.answer.partial and probe.arrived < context.plan.expected:
        yield from probe.answer.missing


def _of_count(context: Context, found: Collection[int]) -> Finding | None:
    """Return a finding of members without a cause of their own, if the coordinator counts arrivals and names none.

    Members with another cause are taken off first. Any one of the rest that runs may be missing.

    ``found`` are the ranks with a cause. A candidate has a pod that runs; the coordinator has arrived.
    """
    coordinator, probe, tally = context.plan.coordinator, context.probe, context.tally
    if coordinator is None or probe is None or probe.answer.joined is None or not probe.serving:
        return None
    size = context.plan.expected
    missing = size - probe.arrived - sum(rank != coordinator.rank for rank in found)
    ranks = sorted(rank for rank in tally.members if rank not in found and rank not in tally.done)
    ranks = [rank for rank in ranks if rank != coordinator.rank]
    if missing <= 0 or not ranks:
        return None
    which = f"{'rank' if len(ranks) == 1 else 'ranks'} {to_ranges(ranks, NAMED_RANGES)}"
    has = "has" if missing == 1 else "have"
    known = missing == len(ranks)
    what = f"{missing} of {size} {has} not arrived; "
    what += f"by their number {which}" if known else f"the store does not show which of {which}"
    cause = Causes.NOT_ARRIVED
    return Finding(
        cause=cause,
        ranks=tuple(ranks) if known else (),
        count=missing,
        what=what,
        evidence="; ".join(filter(None, (probe.answer.detail, probe.answer.partial))),
        next_step=next_step(context, cause, ranks[0], ""),
    )
