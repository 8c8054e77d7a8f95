"""Every plan there is, family by family, worked out from the run in which nothing goes wrong."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations, islice
from random import Random
from zlib import crc32

from tests.simulation.oracles import Result, play
from tests.simulation.places import Places, changes_seen, recorded
from tests.simulation.plans import LOSSES, REFUSALS, Fault, Plan
from tests.simulation.scenario import Scenario, scenarios

Family = Callable[[Places], Iterator[tuple[Fault, ...]]]


def _each_write(*faults: Callable[[int], Fault]) -> Family:
    def family(places: Places) -> Iterator[tuple[Fault, ...]]:
        for number in places.writes:
            yield from ((fault(number),) for fault in faults)

    return family


def _each_event(kind: str, *hows: str) -> Family:
    def family(places: Places) -> Iterator[tuple[Fault, ...]]:
        for version in places.versions:
            yield from ((Fault(kind, version, how),) for how in hows)

    return family


def _stale(places: Places) -> Iterator[tuple[Fault, ...]]:
    """Every earlier list: in the core scenarios after every fourth write that follows it (of a single member: after
    every one), elsewhere after two."""
    for version in places.versions:
        later = places.after(version)
        few = [*later[:1], *later[5:6]]
        for number in later[:: min(places.size, 4)] if places.core and places.size < 16 else few:
            yield (Fault("stale", number, str(version)),)


def _strangers(places: Places) -> Iterator[tuple[Fault, ...]]:
    ranks = {"0", str(places.size - 1)}
    for version in places.versions:
        yield (Fault("edit-spec", version),)
        yield (Fault("edit-pod", version, "0"),)
        for rank in sorted(ranks):
            yield (Fault("delete-pod", version, rank),)


def _pairs(places: Places) -> Iterator[tuple[Fault, ...]]:
    """Two crashes after writes, in the core scenarios."""
    if places.core and places.size < 16:
        for first, second in combinations(places.writes, 2):
            yield Fault("crash-after", first), Fault("crash-after", second)


FAMILIES: dict[str, Family] = {
    "clean": lambda places: iter([()]),
    "crash": _each_write(lambda n: Fault("crash-before", n), lambda n: Fault("crash-after", n)),
    "error": _each_write(
        *(lambda n, how=how: Fault("refuse", n, how) for how in REFUSALS),
        *(lambda n, how=how: Fault("lose", n, how) for how in LOSSES),
    ),
    "hold": _each_event("hold", "8", "120"),
    "reorder": _each_event("hold", "0.3"),
    "drop": _each_event("drop", ""),
    "double": _each_event("double", ""),
    "relist": _each_event("expire", ""),
    "stale": _stale,
    "stranger": _strangers,
    "two-crashes": _pairs,
    "late-write": _each_write(lambda n: Fault("late", n, "2"), lambda n: Fault("late", n, "20")),
}
RANDOM = "random"


def clean(scenario: Scenario, size: int) -> Result:
    """The run in which nothing goes wrong."""
    return play(Plan(scenario.name, size))


def plans(family: str, scenario: Scenario, reference: Result, *, full: bool = False) -> Iterator[Plan]:
    """The plans of a family for one scenario at one size; without ``full`` a fixed part of the many that are alike."""
    places = Places(scenario, reference, full=full)
    step = 1 if full else _step(family, places)
    first = crc32(f"{scenario.name}/{family}".encode()) % step  # not the same places in every scenario
    for faults in islice(FAMILIES[family](places), first, None, step):
        yield replace(reference.plan, faults=faults)


def _step(family: str, places: Places) -> int:
    """Which part of the plans is played when there are ten minutes: all where the daemon's own logic is at stake.

    The core scenarios and the experiments of one member meet every fault at every place, and gangs of four meet a
    crash before and after every write in every scenario. Otherwise the scenarios differ from the core in a few steps
    each, so of the faults that the reflector, the queue or the engine has to bear they meet a part.
    """
    if places.core or places.size == 1 or family == "clean":
        return 1
    if family == "crash":
        return 1 if places.size < 16 else 4
    return 6 if places.size < 16 else 16


def random_plan(seed: int, reference: Callable[[str, int], Result]) -> Plan:
    """Two to four faults of any kind, anywhere, under a shuffled schedule."""
    random = Random(f"plan/{seed}")
    scenario = random.choice(list(scenarios().values()))
    size = random.choice([size for size in scenario.sizes if size < 16] or list(scenario.sizes))
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
                    Fault("refuse", write, random.choice(REFUSALS)),
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
