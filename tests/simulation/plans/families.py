"""Every plan there is, family by family, but for those that others stand for (``docs/adr/0022``).

They are worked out from the run in which nothing goes wrong.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from random import Random

from tests.simulation.oracles.final import Result, play
from tests.simulation.plans.beginnings import lasting
from tests.simulation.plans.places import LARGE, Places, changes_seen, recorded
from tests.simulation.plans.plan import EVERY, LOSSES, REFUSALS, Fault, Plan
from tests.simulation.scenarios.catalogue import scenarios
from tests.simulation.scenarios.scenario import Scenario

Family = Callable[[Places], Iterator[tuple[Fault, ...]]]

Strikes = Sequence[tuple[str, str]]
"""Kinds of faults, and how they strike."""


def _each(places_of: Callable[[Places], Sequence[int]], always: Strikes, varied: Strikes = ()) -> Family:
    """Each of these faults at each of these places; and each of its variants, where faults are varied."""

    def family(places: Places) -> Iterator[tuple[Fault, ...]]:
        for at in places_of(places):
            for kind, how in (*always, *varied) if places.varied else always:
                yield (Fault(kind, at, how),)

    return family


def _crashes(places: Places) -> Iterator[tuple[Fault, ...]]:
    """Before every write, and after it."""
    yield from ((Fault("crash-before", at),) for at in places.writes)
    yield from ((Fault("crash-after", at),) for at in places.turns_of_writes)


def _errors(places: Places) -> Iterator[tuple[Fault, ...]]:
    """Every error at every write."""
    for at in places.writes:
        for kind, how in places.answers(at):
            yield (Fault(kind, at, how),)


def _stale(places: Places) -> Iterator[tuple[Fault, ...]]:
    """Every earlier list, found by a new life."""
    for version in places.versions:
        for number in _lives(places, places.after(version)):
            yield (Fault("stale", number, str(version)),)


def _lives(places: Places, later: Sequence[int]) -> Sequence[int]:
    """After which of these writes that life begins: in core scenarios after every fourth (with a single member after
    each), elsewhere after the sixth, and where faults are varied after the first, too."""
    if places.scenario.core and places.size < LARGE:
        return later[:: min(places.size, 4)]
    few = list(dict.fromkeys([*later[:6][-1:], *later[:1]]))
    return few if places.varied else few[:1]


def _strangers(places: Places) -> Iterator[tuple[Fault, ...]]:
    """Somebody edits the first pod or deletes the last one; or (varied) deletes the first one, or edits the spec."""
    every = [("edit-pod", 0), ("delete-pod", places.size - 1), *[("delete-pod", 0)] * places.varied]
    for version in places.turns_of_changes:
        for kind, rank in dict.fromkeys(every):
            if places.pod(rank, version):
                yield (Fault(kind, version, str(rank)),)
        if places.varied:
            yield (Fault("edit-spec", version),)


def _doubled(places: Places) -> Iterator[tuple[Fault, ...]]:
    """All events come twice; none of them must change anything, so none is doubled alone."""
    yield (Fault("double", EVERY),)
    if places.full:
        yield from ((Fault("double", version),) for version in places.versions)


def _pairs(places: Places) -> Iterator[tuple[Fault, ...]]:
    """Two crashes after writes, in the core scenarios: the second one anywhere in the run that the first one makes."""
    if places.scenario.core:
        for at in places.turns_of_writes:
            first = Fault("crash-after", at)
            crashed = Places(places.scenario, play(replace(places.plan, faults=(first,))), full=places.full)
            yield from ((first, Fault("crash-after", later)) for later in crashed.turns_of_writes if later > at)


WRITES: Callable[[Places], Sequence[int]] = attrgetter("writes")
EVENTS: Callable[[Places], Sequence[int]] = attrgetter("versions")

FAMILIES: dict[str, Family] = {
    "clean": lambda places: iter([()]),
    "crash": _crashes,
    "error": _errors,
    "late-write": _each(WRITES, [("late", "20")], [("late", "2")]),
    "hold": _each(EVENTS, [("hold", "120")], [("hold", "8")]),
    "reorder": _each(EVENTS, [("hold", "0.3")]),
    "drop": _each(EVENTS, [("drop", "")]),
    "double": _doubled,
    "relist": _each(EVENTS, [("expire", "")]),
    "stale": _stale,
    "stranger": _strangers,
    "two-crashes": _pairs,
}
RANDOM = "random"


def clean(scenario: Scenario, size: int) -> Result:
    """The run in which nothing goes wrong."""
    return play(Plan(scenario.name, size))


def plans(
    family: str, scenario: Scenario, reference: Result, *, parting: float = 0.0, full: bool = False
) -> Iterator[Plan]:
    """The plans of a family for one scenario at one size.

    Without those of faults that are over at the wall second ``parting``: until then another scenario's run is the same.
    """
    places = Places(scenario, reference, full=full)
    for faults in FAMILIES[family](places):
        if parting and faults and max(places.second(fault) + lasting(fault) for fault in faults) < parting:
            continue
        yield replace(reference.plan, faults=faults)


def random_plan(seed: int, reference: Callable[[str, int], Result]) -> Plan:
    """Two to four faults of any kind, anywhere, under a shuffled schedule."""
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
