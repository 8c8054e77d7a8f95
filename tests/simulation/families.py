"""Every plan there is, family by family, worked out from the run in which nothing goes wrong."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations, islice
from random import Random
from zlib import crc32

from tests.simulation.oracles import Result, play
from tests.simulation.plans import LOSSES, REFUSALS, Fault, Plan
from tests.simulation.scenario import Scenario, scenarios

SEEN = ("experiments", "pods", "services")
"""What the daemon watches."""

Family = Callable[[Scenario, Result], Iterator[tuple[Fault, ...]]]


def _versions(clean: Result) -> Iterator[int]:
    """The resourceVersions of what is watched."""
    return (version for version, resource in clean.changes if resource in SEEN)


def _each_write(*faults: Callable[[int], Fault]) -> Family:
    def family(scenario: Scenario, clean: Result) -> Iterator[tuple[Fault, ...]]:
        for number in range(1, len(clean.writes) + 1):
            yield from ((fault(number),) for fault in faults)

    return family


def _each_event(kind: str, *hows: str) -> Family:
    def family(scenario: Scenario, clean: Result) -> Iterator[tuple[Fault, ...]]:
        for version in _versions(clean):
            yield from ((Fault(kind, version, how),) for how in hows)

    return family


def _stale(scenario: Scenario, clean: Result) -> Iterator[tuple[Fault, ...]]:
    """Every earlier list: in the core scenarios after every fourth write that follows it (of a single member: after
    every one), elsewhere after two."""
    for version in _versions(clean):
        later = [number for number, (_, before) in enumerate(clean.writes, 1) if before >= version]
        if scenario.core and clean.plan.size < 16:
            later = later[:: 1 if clean.plan.size == 1 else 4]
        else:
            later = [*later[:1], *later[5:6]]
        for number in later:
            yield (Fault("stale", number, str(version)),)


def _strangers(scenario: Scenario, clean: Result) -> Iterator[tuple[Fault, ...]]:
    ranks = {"0", str(clean.plan.size - 1)}
    for version in _versions(clean):
        yield (Fault("edit-spec", version),)
        yield (Fault("edit-pod", version, "0"),)
        for rank in sorted(ranks):
            yield (Fault("delete-pod", version, rank),)


def _pairs(scenario: Scenario, clean: Result) -> Iterator[tuple[Fault, ...]]:
    """Two crashes after writes, in the core scenarios."""
    if scenario.core and clean.plan.size < 16:
        for first, second in combinations(range(1, len(clean.writes) + 1), 2):
            yield Fault("crash-after", first), Fault("crash-after", second)


FAMILIES: dict[str, Family] = {
    "clean": lambda scenario, clean: iter([()]),
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
    step = 1 if full else _step(family, scenario, reference.plan.size)
    first = crc32(f"{scenario.name}/{family}".encode()) % step  # not the same places in every scenario
    for faults in islice(FAMILIES[family](scenario, reference), first, None, step):
        yield replace(reference.plan, faults=faults)


def _step(family: str, scenario: Scenario, size: int) -> int:
    """Which part of the plans is played when there are ten minutes: all where the daemon's own logic is at stake.

    The core scenarios and the experiments of one member meet every fault at every place, and every scenario meets a
    crash before and after every write. Otherwise the scenarios differ from the core in a few steps each, so of the
    faults that the reflector or the queue has to bear they meet every sixth or twelfth; and of a large gang, whose
    members are alike, a part only.
    """
    if family == "clean" or (family == "crash" and (scenario.core or size < 16)):
        return 1
    if size >= 16:
        return 12 if scenario.core else 48
    if scenario.core or size == 1:
        return 1
    return 6 if family in ("stale", "drop") else 12


def random_plan(seed: int, reference: Callable[[str, int], Result]) -> Plan:
    """Two to four faults of any kind, anywhere, under a shuffled schedule."""
    random = Random(f"plan/{seed}")
    scenario = random.choice(list(scenarios().values()))
    size = random.choice([size for size in scenario.sizes if size < 16] or list(scenario.sizes))
    run = reference(scenario.name, size)
    faults = []
    for _ in range(random.randint(2, 4)):
        write, version = random.randint(1, len(run.writes)), random.choice(list(_versions(run)))
        earlier = random.randint(1, max(1, run.writes[write - 1][1]))
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
