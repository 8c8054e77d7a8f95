"""All plans, by family, without those that are equivalent to another one (``docs/adr/0022``).

They are derived from the run without faults.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from random import Random

from tests.simulation.oracles.final import Result, play
from tests.simulation.plans.fault_points import LARGE, FaultPoints, changes_seen, recorded
from tests.simulation.plans.plan import EVERY, LOSSES, REFUSALS, Fault, Plan
from tests.simulation.plans.shared_prefixes import effect_seconds
from tests.simulation.scenarios.catalogue import scenarios
from tests.simulation.scenarios.scenario import Scenario

Family = Callable[[FaultPoints], Iterator[tuple[Fault, ...]]]

Strikes = Sequence[tuple[str, str]]
"""Kinds of faults, each with its ``how``."""


def _each(points_of: Callable[[FaultPoints], Sequence[int]], always: Strikes, varied: Strikes = ()) -> Family:
    """The ``always`` faults at each place, and the ``varied`` ones where faults are varied."""

    def family(points: FaultPoints) -> Iterator[tuple[Fault, ...]]:
        for at in points_of(points):
            for kind, how in (*always, *varied) if points.varied else always:
                yield (Fault(kind, at, how),)

    return family


def _crashes(points: FaultPoints) -> Iterator[tuple[Fault, ...]]:
    """A crash before every write, and after it."""
    yield from ((Fault("crash-before", at),) for at in points.writes)
    yield from ((Fault("crash-after", at),) for at in points.turns_of_writes)


def _errors(points: FaultPoints) -> Iterator[tuple[Fault, ...]]:
    """Every distinct error at every write."""
    for at in points.writes:
        for kind, how in points.failures_of(at):
            yield (Fault(kind, at, how),)


def _stale(points: FaultPoints) -> Iterator[tuple[Fault, ...]]:
    """Every earlier list, as the first list of a daemon that is started again."""
    for version in points.versions:
        for number in _restarts(points, points.after(version)):
            yield (Fault("stale", number, str(version)),)


def _restarts(points: FaultPoints, later: Sequence[int]) -> Sequence[int]:
    """The writes after which that daemon is started: in core scenarios every fourth (with a single member each),
    elsewhere the sixth, and where faults are varied the first, too."""
    if points.scenario.core and points.size < LARGE:
        return later[:: min(points.size, 4)]
    few = list(dict.fromkeys([*later[:6][-1:], *later[:1]]))
    return few if points.varied else few[:1]


def _foreign_changes(points: FaultPoints) -> Iterator[tuple[Fault, ...]]:
    """A user edits the first pod or deletes the last one; or (varied) deletes the first one, or edits the spec."""
    every = [("edit-pod", 0), ("delete-pod", points.size - 1), *[("delete-pod", 0)] * points.varied]
    for version in points.turns_of_changes:
        for kind, rank in dict.fromkeys(every):
            if points.pod(rank, version):
                yield (Fault(kind, version, str(rank)),)
        if points.varied:
            yield (Fault("edit-spec", version),)


def _doubled(points: FaultPoints) -> Iterator[tuple[Fault, ...]]:
    """All events come twice. Nothing may change, so no event is doubled alone unless ``full``."""
    yield (Fault("double", EVERY),)
    if points.full:
        yield from ((Fault("double", version),) for version in points.versions)


def _pairs(points: FaultPoints) -> Iterator[tuple[Fault, ...]]:
    """Core scenarios: a crash after a write, and a second one anywhere in the run that follows from the first."""
    if points.scenario.core:
        for at in points.turns_of_writes:
            first = Fault("crash-after", at)
            crashed = FaultPoints(points.scenario, play(replace(points.plan, faults=(first,))), full=points.full)
            yield from ((first, Fault("crash-after", later)) for later in crashed.turns_of_writes if later > at)


WRITES: Callable[[FaultPoints], Sequence[int]] = attrgetter("writes")
EVENTS: Callable[[FaultPoints], Sequence[int]] = attrgetter("versions")

FAMILIES: dict[str, Family] = {
    "clean": lambda points: iter([()]),
    "crash": _crashes,
    "error": _errors,
    "late-write": _each(WRITES, [("late", "20")], [("late", "2")]),
    "slow-answer": _each(WRITES, [("slow-answer", "5")]),
    "hold": _each(EVENTS, [("hold", "120")], [("hold", "8")]),
    "reorder": _each(EVENTS, [("hold", "0.3")]),
    "drop": _each(EVENTS, [("drop", "")]),
    "double": _doubled,
    "relist": _each(EVENTS, [("expire", "")]),
    "stale": _stale,
    "stranger": _foreign_changes,
    "two-crashes": _pairs,
}
RANDOM = "random"


def clean(scenario: Scenario, size: int) -> Result:
    """Play the run without faults."""
    return play(Plan(scenario.name, size))


def plans(
    family: str, scenario: Scenario, reference: Result, *, until: float = 0.0, full: bool = False
) -> Iterator[Plan]:
    """The plans of a family for one scenario at one size.

    Plans whose faults are over at the wall-clock second ``until`` are left out: another scenario has the same ones.
    """
    points = FaultPoints(scenario, reference, full=full)
    for faults in FAMILIES[family](points):
        if until and faults and max(points.second(fault) + effect_seconds(fault) for fault in faults) < until:
            continue
        yield replace(reference.plan, faults=faults)


def random_plan(seed: int, reference: Callable[[str, int], Result]) -> Plan:
    """Two to four faults of any kind, anywhere, with a shuffled loop."""
    random = Random(f"plan/{seed}")
    scenario = random.choice(list(scenarios().values()))
    size = random.choice([size for size in scenario.sizes if size < LARGE] or list(scenario.sizes))
    run = recorded(reference(scenario.name, size))
    faults = []
    for _ in range(random.randint(2, 4)):
        write, version = random.randint(1, len(run.writes)), random.choice(changes_seen(run)).version
        earlier = random.randint(1, max(1, run.writes[write - 1].version))
        rank = str(random.randrange(size))
        faults.append(
            random.choice(
                [
                    Fault("crash-before", write),
                    Fault("crash-after", write),
                    Fault("stale", write, str(earlier)),
                    Fault("refuse", write, random.choice((*REFUSALS, "reset"))),
                    Fault("lose", write, random.choice(LOSSES)),
                    Fault("slow-answer", write, "5"),
                    Fault("hold", version, random.choice(("0.05", "0.6", "8", "120"))),
                    Fault("drop", version),
                    Fault("double", version),
                    Fault("expire", version),
                    Fault("delete-pod", version, rank),
                    Fault("edit-pod", version, rank),
                    Fault("edit-spec", version),
                ]
            )
        )
    return Plan(scenario.name, size, tuple(faults), seed, shuffle=True)
