"""CollectiveStuck: processes of a gang wait in a collective that others have not entered.

``state.view.recorder.collectives`` has who that is.

It is an alert and no verdict, as every Stuck. It is never said once a member has ended or a rank has left in good
order, nor of a member whose pod shows more than that: then the pod's own cause is said. Its sentence has times and no
ages, so that it is written once.
"""

from typing import Final

from muster.api.values.rank_ranges import to_ranges
from muster.api.values.timestamps import clock_time
from muster.state.facts import hang
from muster.state.facts.context import Context
from muster.state.view.recorder.arrivals import Arrivals, who
from muster.state.view.recorder.collectives import Behind, Collectives, Late
from muster.state.vocabulary.record import ConditionType, Phase

COLLECTIVE_STUCK: Final = "CollectiveStuck"
"""The reason of a condition Stuck in which ranks wait for others in a collective."""
HANGS: Final = (hang.HUNG, COLLECTIVE_STUCK)
"""The reasons of a condition Stuck whose programs make no progress: one hang may have either, as evidence comes."""
SHOWN: Final = 3
"""Collectives that a sentence names, and ways in which ranks are not in one of them."""
NAMED: Final = 80
"""Characters of the ranks in a sentence."""


def behind(context: Context) -> Collectives | None:
    """The collectives of a gang that is stuck in one; None where it makes progress, ends, or does not publish."""
    seen, probe = context.view.collectives_of(context.record.epoch), context.probe
    if seen is None or not seen.behind or not _at_work(context) or (probe is not None and probe.leaving):
        return None
    members = context.tally.members
    pods = [members.get(late.member) for each in seen.behind for late in each.late]
    well = all(pod and pod.started and pod.live and not (pod.terminating or pod.failed or pod.cut_off) for pod in pods)
    return seen if well else None


def slow(context: Context) -> Arrivals | None:
    """Who comes last to the collectives of a gang that makes progress; None where no process does or may."""
    seen, probe = context.view.arrivals_of(context.record.epoch), context.probe
    if seen is None or not seen.last or not seen.hold(context.now):
        return None
    if not _at_work(context) or (probe is not None and probe.leaving):
        return None
    return None if behind(context) or hang.hung(context) or hang.still(context) else seen


def advice(context: Context) -> str:
    """What the status says of them, which changes only with who they are; empty where nothing is said.

    It is no verdict: nothing follows from it.
    """
    seen = slow(context)
    return f"{who(seen)}; the others wait for {'it' if len(seen.last) == 1 else 'them'}" if seen else ""


def sentence(seen: Collectives) -> str:
    """Since when, and who has not entered what."""
    said = "; ".join(said_of(each, seen) for each in seen.behind[:SHOWN])
    rest = len(seen.behind) - SHOWN
    more = f"; and {rest} more collectives" if rest > 0 else ""
    return f"{since(seen)}: {said}{more}"


def since(seen: Collectives) -> str:
    """``no collective has started or finished since 21:30:13Z``; NCCL counts not all of them, and not which ended."""
    asked = any(each.asked for each in seen.behind)
    nothing = "NCCL has counted no collective" if asked else "no collective has started or finished"
    return f"{nothing} since {clock_time(seen.moved_at)}"


def said_of(each: Behind, seen: Collectives) -> str:
    """``3 of 4 ranks wait in all_reduce #6 (default_pg); rank 2 has entered only 5``."""
    ways: dict[tuple[int, bool, str, str], list[Late]] = {}
    for late in each.late:
        ways.setdefault((late.entered, late.silent, late.waits, late.called), []).append(late)
    parts = [f"{_who(lates, each.asked)} {_way(each, lates, seen)}" for lates in list(ways.values())[:SHOWN]]
    if (rest := len(ways) - SHOWN) > 0:
        parts.append(f"and {rest} more kinds of them")
    if each.callers:
        return f"{', '.join(parts)}, {_others_called(each)}"
    return f"{waiting(each)}; {', '.join(parts)}"


def waiting(each: Behind) -> str:
    """``3 of 4 ranks wait in all_reduce #6 (default_pg)``; where NCCL says so, they have entered it."""
    if each.asked:
        return f"{each.waiting} of {each.size} GPUs have entered {each.words}"
    parts = "ranks" if all(late.member == late.rank for late in each.late) else "processes"
    return f"{each.waiting} of {each.size} {parts} wait in {each.words}"


def _way(each: Behind, lates: list[Late], seen: Collectives) -> str:
    """How these are late: ``has entered only 5 and is in evaluate (train.py:40)``."""
    late, many = lates[0], len(lates) > 1
    places = {place_of(each, seen) for each in lates}
    place = places.pop() if len(places) == 1 else ""
    has = "have" if many else "has"
    if late.called:
        return f"called {late.called} #{late.entered} ({each.group}){f' {place}' if place else ''}"
    if late.silent:
        known = f" after {late.entered}" if late.entered >= 0 else ""
        return f"{has} stopped reporting{known}{f' (last seen {place})' if place else ''}"
    more = f" and {'wait' if many else 'waits'} in {_elsewhere(each, late)}" if late.waits else ""
    if place and not more:
        more = f" and {'are' if many else 'is'} {place}"
    return f"{has} entered only {late.entered}{more}"


def way(each: Behind, late: Late) -> str:
    """``entered only 5, not all_reduce #6 (default_pg)``, ``called all_gather #12 (default_pg)``."""
    if late.called:
        return f"called {late.called} #{late.entered} ({each.group})"
    if late.silent:
        return f"stopped reporting, and was not seen in {each.words}"
    waits = f"; it waits in {_elsewhere(each, late)}" if late.waits else ""
    return f"entered only {late.entered}, not {each.words}{waits}"


def _elsewhere(each: Behind, late: Late) -> str:
    return late.waits if each.asked else f"{late.waits} of another group"


def place_of(late: Late, seen: Collectives) -> str:
    """Where that process is, as it has published; empty while it is at work, since that changes at each look."""
    process = seen.processes.get((late.member, late.rank))
    if process is None or (process.report.doing.works and not late.silent):
        return ""
    return process.report.doing.place


def _others_called(each: Behind) -> str:
    ranks = f"{'rank' if len(each.callers) == 1 else 'ranks'} {_numbers(list(each.callers))}"
    return f"{ranks} called {each.operation} #{each.entered}"


def unseen(context: Context) -> bool:
    """The record says so, and this daemon has not looked often enough yet: it has taken over."""
    said, seen = context.record.condition(ConditionType.STUCK), context.view.collectives_of(context.record.epoch)
    if said is None or not said.status or said.reason != COLLECTIVE_STUCK:
        return False
    return (seen is None or seen.unsure) and _at_work(context)


def _at_work(context: Context) -> bool:
    return context.record.phase is Phase.RUNNING and not context.tally.succeeded


def part(each: Behind, late: Late) -> str:
    """``process 3`` or ``GPU 3``: which part of its pod is late; empty where that has one."""
    if each.asked:
        return f"GPU {late.device}" if late.device >= 0 else ""
    return "" if late.member == late.rank else f"process {late.rank}"


def _who(lates: list[Late], asked: bool) -> str:
    """Ranks of the gang are its pods; parts of a pod are named by their own number.

    That is a process's number among all. NCCL's ranks are GPUs, which are numbered by node: so only those of one pod.
    """
    members = sorted({late.member for late in lates})
    of = f"{'rank' if len(members) == 1 else 'ranks'} {_numbers(members)}"
    if asked:
        devices = sorted(late.device for late in lates if late.device >= 0)
        if not devices:
            return of
        if len(members) > 1:
            return f"{len(lates)} GPUs of {of}"
        return f"{'GPU' if len(devices) == 1 else 'GPUs'} {_numbers(devices)} of {of}"
    if all(late.member == late.rank for late in lates):
        return of
    ranks = _numbers(sorted(late.rank for late in lates))
    return f"{'process' if len(lates) == 1 else 'processes'} {ranks} of {of}"


def _numbers(numbers: list[int]) -> str:
    return to_ranges(numbers, NAMED).replace(",", ", ")
