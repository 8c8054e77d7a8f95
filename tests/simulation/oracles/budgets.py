"""Status writes and Events of one experiment are bounded, whatever happens to it.

A status write that changes a fact (a phase, an epoch, a time, a count of restarts) follows the life of the gang, which
back-off bounds. One that changes words alone comes from a budget: six in a row, and one more every twelve seconds
(``state.view.turns``; ADR 30). A daemon that takes over starts with a full budget.
"""

from collections import defaultdict
from collections.abc import Iterator

from tests.fakes.history import Object
from tests.scenarios.scenario import path_of
from tests.simulation.world.world import World

WINDOW = 60.0
TEN_MINUTES = 600.0
MOST_FACTS = 30
"""Status writes of facts within a window: five lives of a gang, with six turns each."""
MOST_EVENTS = 30
"""Events of one experiment within a window, by the same count."""
BURST, REFILL = 6, 12.0
"""Writes of words in a row, and seconds per further one."""
MARGIN = 0.1
"""Parts of a write by which the budget may be overdrawn: it is spent a moment before the write is carried out."""
WORDS = (
    "message", "reason", "conditions", "ready", "roll", "steps", "story", "updateTime", "goodput",
)  # fmt: skip
"""Fields of a status that no write of facts needs."""


def within_budget(world: World) -> Iterator[str]:
    """The experiments that were written too often."""
    facts, words, events = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list), _events(world)
    for change in world.changes:
        if change.resource == "experiments" and change.kind == "MODIFIED" and change.before is not None:
            before, after = change.before.get("status") or {}, change.after.get("status") or {}
            if before != after:
                (words if _facts(before) == _facts(after) else facts)[change.after["metadata"]["uid"]].append(change.at)
    for what, limit, found in (("status writes of facts", MOST_FACTS, facts), ("Events", MOST_EVENTS, events)):
        for uid, times in found.items():
            if (most := _busiest(times, WINDOW)) > limit:
                yield f"{most} {what} of {uid[-4:]} within {WINDOW:g} s"
    for uid, times in words.items():
        if (least := _least_left(world, times)) < -MARGIN:
            yield f"{-least:.1f} status writes of words of {uid[-4:]} more than its budget"
    yield from _run_within_ten_minutes(world, facts, words, events)


def _run_within_ten_minutes(world: World, *kinds: dict[str, list[float]]) -> Iterator[str]:
    """The scenario's own limit of ``run``. A daemon that takes over may have to write again what it sees."""
    limit = world.scenario.most_writes
    if limit is None:
        return
    limit += BURST * (len(world.runs) - 1)
    uid = next(each.after["metadata"]["uid"] for each in world.changes if each.path == path_of("run"))
    facts, words, events = (kind.get(uid, []) for kind in kinds)
    for what, times in (("status writes", sorted(facts + words)), ("Events", events)):
        if (most := _busiest(times, TEN_MINUTES)) > limit:
            yield f"{most} {what} of run within ten minutes; it should be {limit} at most"


def _events(world: World) -> dict[str, list[float]]:
    found = defaultdict[str, list[float]](list)
    for change in world.changes:
        if change.resource == "events":
            found[change.after["involvedObject"]["uid"]].append(change.at)
    return found


def _facts(status: Object) -> Object:
    return {field: value for field, value in status.items() if field not in WORDS}


def _least_left(world: World, times: list[float]) -> float:
    """The lowest level of a budget from which each of these writes takes one."""
    starts = [run.born for run in world.runs]
    level, last = float(BURST), 0.0
    lowest = level
    for at in times:
        anew = any(last < start <= at for start in starts)
        level = float(BURST) if anew else min(BURST, level + (at - last) / REFILL)
        level, last = level - 1, at
        lowest = min(lowest, level)
    return lowest


def _busiest(times: list[float], window: float) -> int:
    """The most times within any window."""
    first = most = 0
    for last, at in enumerate(times):
        while times[first] < at - window:
            first += 1
        most = max(most, last - first + 1)
    return most
