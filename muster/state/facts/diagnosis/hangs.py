"""Sentences about hangs (``facts.hang``), about ranks that others wait for, and about ranks that come last.

The sentences have times and no ages, and order ranks by their numbers alone, so that each is written once.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Final

from muster.api.places import INPUT
from muster.api.values.durations import count_of
from muster.api.values.rank_ranges import from_ranges, to_ranges
from muster.api.values.timestamps import clock_time
from muster.state.facts import hang
from muster.state.facts.causes.table import Causes
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.classifier import Diagnosis
from muster.state.facts.hang import COLLECTIVE_STUCK, HUNG, Hang
from muster.state.view.places import PlaceGroup, Places
from muster.state.view.progress import Progress
from muster.state.view.recorder.arrivals import Arrivals
from muster.state.view.recorder.collectives import Behind, Collectives, Late

SHOWN: Final = 3
"""Collectives, places and groups that a sentence names, and ways in which ranks are missing from a collective."""
CALLS: Final = 6
"""Calls of a stack in the evidence."""
_AT_PLACES, _IN_COLLECTIVES = 60, 80
"""Characters of the ranks in a sentence."""


def sentence(context: Context, found: Hang) -> str:
    """Write the time of the last progress, and the ranks that are behind, or where the ranks are."""
    match found.evidence:
        case Collectives() as seen:
            return of_collectives(seen)
        case Progress() as progress:
            what = "no report" if progress.sent else "no step"
            phrase = f"{what} since {clock_time(progress.moved_at)} ({last_step(progress)})"
            return ": ".join(filter(None, (phrase, where(context))))
        case Places() as stand:
            return _standstill(stand)


def diagnoses(context: Context, most: int) -> dict[int, Diagnosis]:
    """Return the members that keep a gang that hangs, at most ``most``: those that are behind or elsewhere, else all.

    None if the gang makes progress.
    """
    found = hang.of(context)
    if found is not None and isinstance(found.evidence, Collectives):
        return dict(islice(_late(context, found.evidence).items(), most))
    if recorded := as_recorded(context, COLLECTIVE_STUCK):
        return recorded
    if found is None or context.probe is None:
        return {}
    stand = hang.places(context)
    apart = {rank: group for group in stand.outliers for rank in group.ranks} if stand is not None else {}
    stacks = stand.stacks if stand is not None else {}
    if isinstance(found.evidence, Places):
        phrase = _standstill(found.evidence)
        return {
            rank: Diagnosis(Causes.HUNG, group_at(apart[rank]), phrase + _calls(apart[rank], stacks))
            for rank in islice(apart, most)
        }
    assert isinstance(found.evidence, Progress)
    return _without_step(context, found.evidence, apart, stacks, most)


def as_recorded(context: Context, *reasons: str) -> dict[int, Diagnosis]:
    """Return the rank that blocks the gang as the record has it: this daemon has taken over, and has no evidence yet.

    In a gang that is Hung the leader represents all ranks if the record names none.
    """
    stuck, known = context.record.called_stuck, context.record.known
    if stuck is None or not hang.awaits_evidence(context, *reasons):
        return {}
    cause = Causes.HUNG if stuck.reason == HUNG else Causes.COLLECTIVE_BEHIND
    ranks = known.ranks if known is not None and known.cause == cause.value else ""
    rank = min(from_ranges(ranks, context.plan.size), default=None)
    if cause is Causes.COLLECTIVE_BEHIND:
        what = "others wait for it in a collective"
        return {} if rank is None else {rank: Diagnosis(cause, what, stuck.message)}
    what = "no rank makes progress" if rank is None else "behind the others, or at another place"
    return {context.plan.leader if rank is None else rank: Diagnosis(cause, what, stuck.message)}


# --- by steps


def last_step(progress: Progress) -> str:
    """Return ``last step 1841, rank 37 at 1839``."""
    if progress.slowest is not None:
        return f"last step {progress.step}, rank {progress.slowest} at {progress.slowest_step}"
    if progress.sent:
        return f"last step {progress.step}, by {count_of(progress.reporting, 'rank')}"
    return f"last step {progress.step}"


def _without_step(
    context: Context,
    progress: Progress,
    apart: Mapping[int, PlaceGroup],
    stacks: Mapping[int, tuple[str, ...]],
    most: int,
) -> dict[int, Diagnosis]:
    steps = {rank: each.report.step for rank, each in progress.ranks.items()}
    behind = [rank for rank, step in steps.items() if step < progress.step]
    phrase = f"no step since {clock_time(progress.moved_at)} (last step {progress.step})"
    phrase = ": ".join(filter(None, (phrase, where(context))))
    found = {}
    for rank in islice(behind or [rank for rank in apart if rank in steps] or steps, most):
        place = f", {group_at(apart[rank])}" if rank in apart else ""
        calls = _calls(apart[rank], stacks) if rank in apart else ""
        found[rank] = Diagnosis(Causes.HUNG, f"stopped at step {steps[rank]}{place}", phrase + calls)
    return found


# --- by places


def where(context: Context) -> str:
    """Return the places of a hung gang's ranks: ``rank 37 is in next (data.py:41); the other 511 …``; or empty."""
    stand = hang.places(context)
    return of_places(stand) if stand is not None and stand.size > 1 else ""


def of_places(places: Places) -> str:
    """Return ``rank 37 is in next (data.py:41); the other 511 are in all_reduce (train.py:88)``."""
    if len(places.groups) == 1:
        equal = ", with equal stacks: the cause is below Python, or the same in all" if places.equal else ""
        return f"all {places.size} ranks {_activity(places.groups[0])}{equal}"
    outliers = places.outliers
    named = outliers[:SHOWN] or places.groups[: SHOWN + 1]
    rest = sum(len(group.ranks) for group in (outliers or places.groups)[len(named) :])
    phrase = [f"{_counted(group.ranks)} {_activity(group)}" for group in named]
    if rest:
        phrase.append(f"{rest} {'is' if rest == 1 else 'are'} elsewhere")
    apart = ", ".join(phrase)
    if not outliers:
        return apart
    count = len(places.groups[0].ranks)
    return f"{apart}; the other {'rank' if count == 1 else count} {_activity(places.groups[0])}"


def of_numbers(places: Places, size: int) -> str:
    """Return ``rank 1 joined with 3 processes; the coordinator has 4``; empty if all numbers are equal."""
    named = [f"{_counted(ranks)} joined with {count_of(number, 'process')}" for number, ranks in places.numbers[:SHOWN]]
    rest = sum(len(ranks) for _, ranks in places.numbers[SHOWN:])
    more = [f"{count_of(rest, 'rank')} with other numbers"] if rest else []
    return f"{', '.join(named + more)}; the coordinator has {size}" if named else ""


def group_at(group: PlaceGroup) -> str:
    """Return ``in next (data.py:41)``, ``no response (last seen in next (data.py:41))``."""
    return group.place if group.answers else f"no response (last seen {group.place})"


def _activity(group: PlaceGroup) -> str:
    """Return ``is in next (data.py:41)``, ``does not respond (last seen in next (data.py:41))``."""
    one = len(group.ranks) == 1
    if group.answers:
        return f"{'is' if one else 'are'} {group.place}"
    return f"{'does' if one else 'do'} not respond (last seen {group.place})"


def _standstill(stand: Places) -> str:
    """Return since when no rank makes progress, or all others wait for ranks at work, and the places of the ranks."""
    what = "ranks at work have kept the others waiting" if stand.awaited else "no progress"
    return f"{what} since {clock_time(stand.still_since or 0.0)}: {of_places(stand)}"


def _counted(ranks: tuple[int, ...]) -> str:
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"{len(ranks)} ranks ({_numbers(ranks, _AT_PLACES)})"


def _calls(group: PlaceGroup, stacks: Mapping[int, tuple[str, ...]]) -> str:
    """Return the stack of the first rank of the group, if it was read."""
    calls = stacks.get(group.ranks[0], ())
    return f"; rank {group.ranks[0]}, the innermost call first: {', '.join(calls[:CALLS])}" if calls else ""


# --- by collectives


def of_collectives(seen: Collectives) -> str:
    """Return since when no collective moves, and which ranks have not entered which collective."""
    phrase = "; ".join(_of_one(each, seen) for each in seen.behind[:SHOWN])
    rest = len(seen.behind) - SHOWN
    more = f"; and {count_of(rest, 'more collective')}" if rest > 0 else ""
    return f"{_since(seen)}: {phrase}{more}"


def _late(context: Context, seen: Collectives) -> dict[int, Diagnosis]:
    """Return the members that others wait for in a collective."""
    found: dict[int, Diagnosis] = {}
    for each in seen.behind:
        waits = _of_one(each, seen) if each.callers else _waiting(each)
        for late in each.late:
            part = f"its {its} " if (its := _part(each, late)) else ""
            pod, place = context.tally.members.get(late.member), _place_of(late, seen)
            at = f"pod {pod.name}" + (f" on node {pod.node}" if pod.node else "") if pod else "its pod"
            phrase = f"{at}{f', {place}' if place else ''}; {_since(seen)}; {waits}"
            found.setdefault(late.member, Diagnosis(Causes.COLLECTIVE_BEHIND, f"{part}{_not_in(each, late)}", phrase))
    return found


def _since(seen: Collectives) -> str:
    """Return ``no collective has started or finished since 21:30:13Z``; NCCL counts only some, and no ends."""
    asked = any(each.at.asked for each in seen.behind)
    nothing = "NCCL has counted no collective" if asked else "no collective has started or finished"
    return f"{nothing} since {clock_time(seen.moved_at)}"


def _of_one(each: Behind, seen: Collectives) -> str:
    """Return ``3 of 4 ranks wait in all_reduce #6 (default_pg); rank 2 has entered only 5``."""
    ways: dict[tuple[int, bool, str, str], list[Late]] = {}
    for late in each.late:
        ways.setdefault((late.entered, late.silent, late.waits, late.called), []).append(late)
    parts = [f"{_who(lates, each.at.asked)} {_way(each, lates, seen)}" for lates in list(ways.values())[:SHOWN]]
    if (rest := len(ways) - SHOWN) > 0:
        parts.append(f"and {count_of(rest, 'more kind')} of them")
    if each.callers:
        called = f"{_ranks(each.callers, _IN_COLLECTIVES)} called {each.at.operation} #{each.at.entered}"
        return f"{', '.join(parts)}, {called}"
    return f"{_waiting(each)}; {', '.join(parts)}"


def _waiting(each: Behind) -> str:
    """Return ``3 of 4 ranks wait in all_reduce #6 (default_pg)``, or, from NCCL, how many GPUs have entered it."""
    if each.at.asked:
        return f"{each.waiting} of {each.at.size} GPUs {'has' if each.waiting == 1 else 'have'} entered {each.at.words}"
    parts = "ranks" if all(late.member == late.rank for late in each.late) else "processes"
    return f"{each.waiting} of {each.at.size} {parts} {'waits' if each.waiting == 1 else 'wait'} in {each.at.words}"


def _way(each: Behind, lates: list[Late], seen: Collectives) -> str:
    """Return how these ranks are late: ``has entered only 5 and is in evaluate (train.py:40)``."""
    late, many = lates[0], len(lates) > 1
    places = {_place_of(each, seen) for each in lates}
    place = places.pop() if len(places) == 1 else ""
    has = "have" if many else "has"
    if late.called:
        return f"called {late.called} #{late.entered} ({each.at.group}){f' {place}' if place else ''}"
    if late.silent:
        known = f" after {late.entered}" if late.entered >= 0 else ""
        return f"{has} stopped reporting{known}{f' (last seen {place})' if place else ''}"
    more = f" and {'wait' if many else 'waits'} in {_elsewhere(each, late)}" if late.waits else ""
    if place and not more:
        more = f" and {'are' if many else 'is'} {place}"
    return f"{has} entered only {late.entered}{more}"


def _not_in(each: Behind, late: Late) -> str:
    """Return ``entered only 5, not all_reduce #6 (default_pg)``, ``called all_gather #12 (default_pg)``."""
    if late.called:
        return f"called {late.called} #{late.entered} ({each.at.group})"
    if late.silent:
        return f"stopped reporting, and was not seen in {each.at.words}"
    waits = f"; it waits in {_elsewhere(each, late)}" if late.waits else ""
    return f"entered only {late.entered}, not {each.at.words}{waits}"


def _elsewhere(each: Behind, late: Late) -> str:
    return late.waits if each.at.asked else f"{late.waits} of another group"


def _place_of(late: Late, seen: Collectives) -> str:
    """Return the place that the process has published; empty while it is at work, since that changes at each look."""
    process = seen.processes.get((late.member, late.rank))
    if process is None or (process.report.doing.works and not late.silent):
        return ""
    return process.report.doing.place


def _part(each: Behind, late: Late) -> str:
    """Return ``process 3`` or ``GPU 3``: the part of its pod that is late; empty if the pod has one part."""
    if each.at.asked:
        return f"GPU {late.device}" if late.device >= 0 else ""
    return "" if late.member == late.rank else f"process {late.rank}"


def _who(lates: list[Late], asked: bool) -> str:
    """Name the late ranks. Ranks of the gang are its pods; parts of a pod have their own number.

    A process has a number among all processes. NCCL's ranks are GPUs, numbered by node: so only those of one pod.
    """
    members = sorted({late.member for late in lates})
    ranks = _ranks(members, _IN_COLLECTIVES)
    if asked:
        devices = sorted(late.device for late in lates if late.device >= 0)
        if not devices:
            return ranks
        if len(members) > 1:
            return f"{len(lates)} GPUs of {ranks}"
        return f"{'GPU' if len(devices) == 1 else 'GPUs'} {_numbers(devices, _IN_COLLECTIVES)} of {ranks}"
    if all(late.member == late.rank for late in lates):
        return ranks
    processes = _numbers(sorted(late.rank for late in lates), _IN_COLLECTIVES)
    return f"{'process' if len(lates) == 1 else 'processes'} {processes} of {ranks}"


# --- what is no hang


def of_work(context: Context) -> str:
    """Return ``rank 0 is computing in evaluate (train.py:40); 2 ranks wait for it``; empty if none is awaited."""
    if (found := hang.awaited(context)) is None:
        return ""
    at: dict[tuple[str, str], list[int]] = {}
    for rank, doing in found.workers:
        at.setdefault((doing.how, doing.place), []).append(rank)
    phrase = [f"{_ranks(ranks, _AT_PLACES)} {_does(*what, len(ranks) > 1)}" for what, ranks in list(at.items())[:SHOWN]]
    if (rest := sum(map(len, list(at.values())[SHOWN:]))) > 0:
        phrase.append(f"{rest} more {'is' if rest == 1 else 'are'} at work")
    whom = "it" if len(found.workers) == 1 else "them"
    others = f"{count_of(found.waiting, 'rank')} {'waits' if found.waiting == 1 else 'wait'}"
    return f"{', '.join(phrase)}; {others} for {whom}"


def _does(how: str, place: str, many: bool) -> str:
    if how == INPUT:
        verb = "wait for input" if many else "waits for input"
    else:
        verb = f"{'are' if many else 'is'} {how or 'at work'}"
    return f"{verb} {place}" if place else verb


def of_slow(context: Context) -> str:
    """Return the sentence on the ranks that come last, which changes only with them; empty if none does."""
    seen = hang.slow(context)
    return f"{of_last(seen)}; the others wait for {'it' if len(seen.last) == 1 else 'them'}" if seen else ""


def of_last(arrivals: Arrivals) -> str:
    """Return ``rank 1 comes last to the collectives of default_pg``; empty if none does."""
    last = arrivals.last
    if not last:
        return ""
    groups = tuple(dict.fromkeys(each.group for each in last))
    of = ", ".join(groups[:SHOWN])
    if (rest := len(groups) - SHOWN) > 0:
        of += f" and of {count_of(rest, 'more group')}"
    if len(last) > 1:
        return f"{_ranks([each.rank for each in last], _IN_COLLECTIVES)} come last to the collectives of {of}"
    one = last[0]
    name = f"rank {one.rank}" if one.rank == one.member else f"process {one.rank} of rank {one.member}"
    return f"{name} comes last to the collectives of {of}"


def _ranks(numbers: list[int] | tuple[int, ...], most: int) -> str:
    return f"{'rank' if len(numbers) == 1 else 'ranks'} {_numbers(numbers, most)}"


def _numbers(numbers: list[int] | tuple[int, ...], most: int) -> str:
    return to_ranges(numbers, most).replace(",", ", ")
