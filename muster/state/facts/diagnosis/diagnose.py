"""Diagnose an experiment: every member that is not there, or not at work, with one cause, grouped.

It looks at the members that are notable (missing from the roll, not started, failed, on a node that is not ready …) and
never at those that are there. The page, ``muster explain`` and the tests ask for all of them; the decision about a gang
that is stuck looks at a few (``failures.known``). The sentence of the status is bounded (``diagnosis.grouping``).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain, filterfalse, islice

from muster.api.values.rank_ranges import to_ranges
from muster.api.values.timestamps import clock_time
from muster.state.facts.causes.heard import serves
from muster.state.facts.causes.table import Causes
from muster.state.facts.collectives import behind, part, place_of, said_of, since, unseen, waiting, way
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.coordinator import given_up, hang_as_recorded, known_rank, of_coordinator
from muster.state.facts.diagnosis.finding import NAMED_RANGES, Diagnosis, Finding
from muster.state.facts.diagnosis.grouping import diagnoses, grouped
from muster.state.facts.diagnosis.next_steps import next_step
from muster.state.facts.hang import hung, known, standstill, still, where
from muster.state.view.places.report import PlaceGroup
from muster.state.view.places.sentence import outlying
from muster.state.view.stage import Stage, stage_of
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import RANKS_ENDED, ConditionType, Phase

SHOWN_CALLS = 6
"""Calls of a stack that the evidence has."""


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
    behind = _of_collectives(context, most_named)
    if context.probe is not None:
        behind = behind or of_hang(context, most_named)
        behind |= given_up(context, context.probe)
    found |= behind
    if (coordinator := context.plan.asked) is not None:
        wrong = of_coordinator(context, coordinator)
        if wrong is not None:
            found[coordinator.rank] = wrong
    if (hanging := hang_as_recorded(context)) is not None:
        found.setdefault(*hanging)
    counted = _of_count(context, found)
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
        yield from sorted(rank for rank in tally.done if rank != context.plan.submitter)


def _from_roll(context: Context) -> Iterator[int]:
    """Ranks that the roll does not have, or, where no coordinator can be asked, whose pod is not ready."""
    tally = context.tally
    if context.plan.asked is None:
        if tally.ready + tally.succeeded < tally.started:
            yield from (rank for rank, pod in tally.members.items() if _unready(pod, rank in tally.done))
    elif not serves(context):
        yield from tally.members
    elif (probe := context.probe) is None:
        yield from context.record.roll.missing if context.record.roll else ()
    elif not probe.answer.partial and probe.arrived < context.plan.expected:
        yield from probe.answer.missing


def _unready(pod: Pod, done: bool) -> bool:
    return stage_of(pod, done) in (Stage.RUNNING, Stage.UNKNOWN)


def _of_collectives(context: Context, most: int) -> dict[int, Diagnosis]:
    """The members that others wait for in a collective, at most ``most``; none where the gang gets on."""
    seen = behind(context)
    if seen is None:
        return _as_recorded(context)
    found: dict[int, Diagnosis] = {}
    for each in seen.behind:
        for late in each.late:
            waits = said_of(each, seen) if each.callers else waiting(each)
            process = f"its {its} " if (its := part(each, late)) else ""
            pod, place = context.tally.members.get(late.member), place_of(late, seen)
            where = f"pod {pod.name}" + (f" on node {pod.node}" if pod.node else "") if pod else "its pod"
            said = f"{where}{f', {place}' if place else ''}; {since(seen)}; {waits}"
            found.setdefault(late.member, Diagnosis(Causes.COLLECTIVE_BEHIND, f"{process}{way(each, late)}", said))
    return dict(islice(found.items(), most))


def _as_recorded(context: Context) -> dict[int, Diagnosis]:
    """The first of them, as the record has it: this daemon has taken over, and has not looked often enough."""
    said, rank = context.record.condition(ConditionType.STUCK), known_rank(context, Causes.COLLECTIVE_BEHIND)
    if said is None or rank is None or not unseen(context):
        return {}
    return {rank: Diagnosis(Causes.COLLECTIVE_BEHIND, "others wait for it in a collective", said.message)}


def of_hang(context: Context, most: int) -> dict[int, Diagnosis]:
    """The members of a gang that hangs: those that are behind, else those that stand elsewhere, else all that report.

    At most ``most``; none where the gang makes progress or does not report.
    """
    progress, stand = hung(context), still(context)
    stands = known(context)
    apart = outlying(stands) if stands is not None else {}
    stacks = stands.stacks if stands is not None else {}
    if progress is None:
        if stand is None:
            return {}
        said = standstill(stand)
        return {
            rank: Diagnosis(Causes.HUNG, apart[rank].each, said + _calls(apart[rank], stacks))
            for rank in islice(apart, most)
        }
    steps = {rank: each.report.step for rank, each in progress.ranks.items()}
    behind = [rank for rank, step in steps.items() if step < progress.step]
    said = f"no step since {clock_time(progress.moved_at)} (last step {progress.step})"
    said = ": ".join(filter(None, (said, where(context))))
    named = behind or [rank for rank in apart if rank in steps] or steps
    found = {}
    for rank in islice(named, most):
        what = f"stopped at step {steps[rank]}"
        if rank in apart:
            what, calls = f"{what}, {apart[rank].each}", _calls(apart[rank], stacks)
            found[rank] = Diagnosis(Causes.HUNG, what, said + calls)
        else:
            found[rank] = Diagnosis(Causes.HUNG, what, said)
    return found


def _calls(group: PlaceGroup, stacks: Mapping[int, tuple[str, ...]]) -> str:
    """The stack of the first rank of the group, where it was read."""
    calls = stacks.get(group.ranks[0], ())
    return f"; rank {group.ranks[0]}, the innermost call first: {', '.join(calls[:SHOWN_CALLS])}" if calls else ""


def _of_count(context: Context, found: Collection[int]) -> Finding | None:
    """How many have not arrived without a cause of their own, where the coordinator counts members and names none.

    Members that something else keeps are taken off first. Of the rest any one that runs may be missing.

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
