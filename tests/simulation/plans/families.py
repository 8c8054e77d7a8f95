"""The plans, by family: each kind of fault, at the boundaries of the phases of the run without faults."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

from tests.scenarios.catalogue import scenarios
from tests.scenarios.scenario import Scenario
from tests.simulation.oracles.judge import play
from tests.simulation.oracles.result import Result
from tests.simulation.plans.boundaries import Boundaries, changes_seen, recorded
from tests.simulation.plans.plan import EVERY, LOSSES, REFUSALS, Fault, Plan

LARGE = 16
"""Members from which on a gang is large: a run costs several times as much as that of a gang of four."""

Family = Callable[[Boundaries], Iterator[tuple[Fault, ...]]]


def _at_writes(*strikes: tuple[str, str]) -> Family:
    """Each of these faults (kind and ``how``) at each write."""
    return lambda places: ((Fault(kind, at, how),) for at in places.writes for kind, how in strikes)


def _at_changes(*strikes: tuple[str, str]) -> Family:
    """Each of these faults (kind and ``how``) at each change."""
    return lambda places: ((Fault(kind, at, how),) for at in places.versions for kind, how in strikes)


_every_error = _at_writes(*(("refuse", how) for how in (*REFUSALS, "reset")), *(("lose", how) for how in LOSSES))
_some_errors = _at_writes(("refuse", "403"), ("refuse", "429"), ("lose", "504"))


def _errors(places: Boundaries) -> Iterator[tuple[Fault, ...]]:
    """Core scenarios: every error at every write; elsewhere one that is refused, one to wait for, and a lost answer."""
    if places.scenario.core or places.everywhere:
        yield from _every_error(places)
    else:
        yield from _some_errors(places)


def _stale(places: Boundaries) -> Iterator[tuple[Fault, ...]]:
    """Every earlier list, as the first list of a daemon that is started again soon afterwards, or some writes later."""
    for version in places.versions:
        later = places.after(version)
        for number in later if places.everywhere else dict.fromkeys([*later[:1], *later[5:6]]):
            yield (Fault("stale", number, str(version)),)


def _foreign_changes(places: Boundaries) -> Iterator[tuple[Fault, ...]]:
    """A user deletes the first pod or the last one; once in each stage, edits or alters one, or edits the spec."""
    edited = set(places.versions if places.everywhere else places.stages)
    for version in places.versions:
        for kind, rank in (*[("edit-pod", 0)] * (version in edited), *(("delete-pod", rank) for rank in places.ranks)):
            if places.pod(rank, version):
                yield (Fault(kind, version, str(rank)),)
        if version in edited:
            yield (Fault("edit-spec", version),)
            for rank in places.ranks:
                if places.pod(rank, version):
                    yield (Fault("alter-pod", version, str(rank)),)


def _clock_steps(places: Boundaries) -> Iterator[tuple[Fault, ...]]:
    """The wall clock is set ahead at each change; once in each stage, back."""
    for version in places.versions:
        yield (Fault("step-clock", version, "7200"),)
    for version in places.versions if places.everywhere else places.stages:
        yield (Fault("step-clock", version, "-3600"),)


def _expired_watches(places: Boundaries) -> Iterator[tuple[Fault, ...]]:
    """A watch ends with 410 once in each stage: what follows is the list that follows a lost event, too."""
    return ((Fault("expire", version),) for version in (places.versions if places.everywhere else places.stages))


def _late_lists(places: Boundaries) -> Iterator[tuple[Fault, ...]]:
    """The watch is minutes late, and so the live lists decide; their answers are seconds late."""
    for version in places.versions:
        yield (Fault("hold", version, "120"), Fault("slow-list", version, "5"))


def _reordered(places: Boundaries) -> Iterator[tuple[Fault, ...]]:
    """The events of one kind come a moment later than those of the others; elsewhere random plans do that."""
    if places.scenario.core or places.everywhere:
        yield from ((Fault("hold", version, "0.3"),) for version in places.versions)


def _expired_pages(places: Boundaries) -> Iterator[tuple[Fault, ...]]:
    """The first live list of each stage whose second page is asked for is too old by then."""
    return ((Fault("expire-page", version),) for version in places.stages)


def _takeovers(places: Boundaries) -> Iterator[tuple[Fault, ...]]:
    """In each phase the leader is killed, and a standby with caches of its own takes over; where a gang may hang, after
    each write, since no phase begins with a hang.

    Core scenarios: also one whose clock is ahead, and one that takes over while the leader is cut off.
    """
    core = places.scenario.core or places.everywhere
    for number in places.numbers if places.scenario.collectives else places.entries:
        yield (Fault("failover", number),)
        if core:
            yield (Fault("failover", number, "20"),)
            yield (Fault("cut", number, "60"),)


def _doubled(places: Boundaries) -> Iterator[tuple[Fault, ...]]:
    """All events come twice, or one does. Nothing may change."""
    yield (Fault("double", EVERY),)
    if places.everywhere:
        yield from ((Fault("double", version),) for version in places.versions)


def _pairs(places: Boundaries) -> Iterator[tuple[Fault, ...]]:
    """Core scenarios: a crash after a write, and a second one in the run that follows from the first."""
    first = next(gangs(places.scenario))
    if places.scenario.core and (places.everywhere or first == (places.plan.size, places.plan.operator)):
        for at in places.writes:
            crash = Fault("crash-after", at)
            crashed = Boundaries(play(replace(places.plan, faults=(crash,))), everywhere=places.everywhere)
            yield from ((crash, Fault("crash-after", later)) for later in crashed.writes if later > at)


FAMILIES: dict[str, Family] = {
    "clean": lambda places: iter([()]),
    "crash": _at_writes(("crash-before", ""), ("crash-after", "")),
    "error": _errors,
    "late-write": _at_writes(("late", "20")),
    "slow-answer": _at_writes(("slow-answer", "5")),
    "hold": _at_changes(("hold", "8")),
    "late-list": _late_lists,
    "expired-page": _expired_pages,
    "reorder": _reordered,
    "drop": _at_changes(("drop", "")),
    "double": _doubled,
    "relist": _expired_watches,
    "stale": _stale,
    "clock-step": _clock_steps,
    "takeover": _takeovers,
    "clock-skew": _at_writes(("skew", "30")),
    "stranger": _foreign_changes,
    "two-crashes": _pairs,
}
RANDOM = "random"


def clean(scenario: str, size: int, operator: str) -> Result:
    """Play the run without faults."""
    return play(Plan(scenario, size, operator=operator))


def plans(family: str, reference: Result, *, everywhere: bool = False) -> Iterator[Plan]:
    """The plans of a family for the scenario, operator and size of that clean run."""
    only = scenarios()[reference.plan.scenario].families
    if only and family not in only:
        return
    for faults in FAMILIES[family](Boundaries(reference, everywhere=everywhere)):
        yield replace(reference.plan, faults=faults)


def gangs(scenario: Scenario) -> Iterator[tuple[int, str]]:
    """The gangs, by size and operator, whose plans are played: core scenarios with every size and every operator, the
    others with one size and one operator. Random plans draw from all of them."""
    usual = 4 if 4 in scenario.sizes else scenario.sizes[0]
    first, *others = scenario.operators
    yield usual, first
    if scenario.core:
        yield from ((size, first) for size in scenario.sizes if size != usual)
        yield from ((usual, operator) for operator in others)


def spare_gangs(scenario: Scenario) -> Iterator[tuple[int, str]]:
    """The other gangs: they are played without faults."""
    played = set(gangs(scenario))
    every = ((size, operator) for size in scenario.sizes for operator in scenario.operators)
    return (gang for gang in every if gang not in played)


def random_plan(seed: int, reference: Callable[[str, int, str], Result]) -> Plan:
    """Two to four faults of any kind, anywhere, with a shuffled loop."""
    random = Random(f"plan/{seed}")
    scenario = random.choice([scenario for scenario in scenarios().values() if not scenario.families])
    size = random.choice([size for size in scenario.sizes if size < LARGE] or list(scenario.sizes))
    operator = random.choice(scenario.operators)
    run = recorded(reference(scenario.name, size, operator))
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
                    Fault("slow-list", version, "5"),
                    Fault("expire-page", version),
                    Fault("drop", version),
                    Fault("double", version),
                    Fault("expire", version),
                    Fault("skew", write, random.choice(("-30", "30"))),
                    Fault("step-clock", version, random.choice(("-3600", "-5", "5", "40"))),
                    Fault("delete-pod", version, rank),
                    Fault("edit-pod", version, rank),
                    Fault("alter-pod", version, rank),
                    Fault("edit-spec", version),
                ]
            )
        )
    return Plan(scenario.name, size, tuple(faults), seed, shuffle=True, operator=operator)
