"""The judgement of a gang that waits in collectives, beside its counts: ranks at work, and calls that do not match.

- A rank that has not entered a collective may be at work (``state.view.stage``): then the others wait for it, and
  nothing is stuck before that has lasted for longer than such a pause may.
- Two processes that have called different operations at one number of one group, and wait in them, prove a mistake in
  the program: neither is ever over. That takes no longer than ``STILL_SECONDS``, however long a pause was before.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from heapq import nsmallest
from itertools import chain

from msgspec.structs import replace

from muster.state.view.recorder.arrivals import CollectiveReport, GroupCount
from muster.state.view.recorder.collectives import (
    LONGER,
    LOOKS,
    MOST_LATE,
    MOST_STATES,
    STILL_SECONDS,
    Behind,
    Collectives,
    Late,
    _Process,
)
from muster.state.view.stage import Awaited, Doing, awaited
from muster.state.view.turns import Turns, batches

_Call = tuple[str, str, int, str, int]
"""Name, backend, size and ranks of a group, and a number of a collective."""
MOST_NAMED = 4
"""Mismatches that a look names: a sentence has fewer."""


def judged_in_turns(seen: Collectives, before: Collectives | None) -> Turns[Collectives]:
    """Return a look with its ranks at work and the calls that do not match; ``before`` is the look before it."""
    still = seen.read_at - seen.moved_at
    if seen.looks >= LOOKS and still >= STILL_SECONDS and (wrong := (yield from _mismatches(seen.processes))):
        return replace(seen, behind=wrong)
    yield
    found = _late_at_work(seen, before.awaited if before is not None and before.epoch == seen.epoch else None)
    if found is not None and not found.outlasts(still, LONGER * seen.longest):
        seen = replace(seen, behind=(), awaited=found)
    workers = frozenset(each.report.member for each in seen.processes.values() if _works(each))
    yield
    return replace(seen, workers=workers, idle=all(map(_idles, seen.processes.values())))


def _works(process: _Process) -> bool:
    """Return True if it is at work. One that waits in a collective may spin, and is not; nor is a silent one."""
    report = process.report
    return report.doing.works and process.same < LOOKS and not any(each.waits for each in report.groups or ())


def _idles(process: _Process) -> bool:
    report = process.report
    waits = report.groups is None or any(each.waits for each in report.groups)
    return report.doing.alone and process.same < LOOKS and not waits


def _late_at_work(seen: Collectives, before: Awaited | None) -> Awaited | None:
    workers: dict[int, Doing] = {}
    for each in seen.behind:
        for late in each.late:
            process = seen.processes[late.member, late.rank]
            if not late.silent and _works(process):
                workers[late.member] = process.report.doing
    return awaited(workers.items(), max((each.waiting for each in seen.behind), default=0), before)


def _mismatches(processes: Mapping[tuple[int, int], _Process]) -> Turns[tuple[Behind, ...]]:
    """Return the collectives of one number that processes have called by different names, and wait in."""
    reports = [each.report for each in processes.values() if each.report.groups]
    states: set[GroupCount] = set()
    for batch in batches(reports):
        yield
        states.update(chain.from_iterable(each.groups or () for each in batch))
        if len(states) > MOST_STATES:
            return ()
    yield
    names: dict[_Call, set[str]] = defaultdict(set)
    for state in states:
        if state.waits and not state.asked and state.entered > 0 and state.operation:
            names[_call(state)].add(state.operation)
    named = set(nsmallest(MOST_NAMED, (call for call, by_name in names.items() if len(by_name) > 1)))
    if not named:
        return ()
    wrong = {state for state in states if _call(state) in named}
    calls: dict[tuple[int, _Call], dict[str, list[tuple[CollectiveReport, GroupCount]]]] = {}
    for batch in batches(reports):
        yield
        for report in batch:
            for state in report.groups or ():
                if state in wrong and state.waits:
                    here = calls.setdefault((report.life, _call(state)), {})
                    here.setdefault(state.operation, []).append((report, state))
    found = []
    for by_name in calls.values():
        if len(by_name) > 1:
            found.append(_mismatch(by_name.values()))
            yield
    return tuple(found)


def _call(state: GroupCount) -> _Call:
    return state.name, state.backend, state.size, state.ranks, state.entered


def _mismatch(by_name: Iterable[list[tuple[CollectiveReport, GroupCount]]]) -> Behind:
    most, *others = sorted(by_name, key=lambda found: (-len(found), found[0][0].rank))
    one = most[0][1]
    late = [
        Late(report.member, report.rank, state.entered, silent=False, waits="", called=state.operation)
        for found in others
        for report, state in found
    ][:MOST_LATE]
    callers = tuple(sorted({report.member for report, _ in most}))
    return Behind(one, len(most), tuple(late), callers)
