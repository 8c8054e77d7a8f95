"""Plays many plans on all processors, and shrinks what goes wrong."""

import gc
import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

from tests.simulation.oracles.final import Result, play
from tests.simulation.plans.beginnings import parting
from tests.simulation.plans.families import RANDOM, clean, plans, random_plan
from tests.simulation.plans.places import recorded
from tests.simulation.plans.plan import Plan, parse
from tests.simulation.scenarios.catalogue import scenarios

NICE = 5
"""What runs beside the plans on real time goes first: these cannot be late."""
GARBAGE = 100_000
"""Objects after which garbage is looked for in a world that lives long."""


@dataclass(slots=True)
class Tally:
    """How many plans were played, and how many of them broke, by family."""

    plans: Counter[str] = field(default_factory=Counter)
    violations: Counter[str] = field(default_factory=Counter)


@cache
def reference(scenario: str, size: int) -> Result:
    """The clean run to compare with, once per process."""
    return clean(scenarios()[scenario], size)


def judge(plan: Plan) -> Result:
    """Play a plan against its clean run."""
    return play(plan, reference(plan.scenario, plan.size))


def shrink(plan: Plan) -> Plan:
    """The plan without every fault, and every disorder, that it fails without."""
    smaller = [plan.without(fault) for fault in plan.faults]
    if plan.shuffle:
        smaller.insert(0, Plan(plan.scenario, plan.size, plan.faults))
    for each in smaller:
        if judge(each).violations:
            return shrink(each)
    return plan


def exhaustive(
    families: Iterable[str], sizes: Collection[int], names: Collection[str] = (), *, full: bool = False
) -> Iterator[tuple[str, str]]:
    """Family and line of every plan."""
    chosen = [scenario for scenario in scenarios().values() if not names or scenario.name in names]
    for scenario in chosen:
        for size in (size for size in scenario.sizes if size in sizes):
            unharmed = reference(scenario.name, size)
            parts = 0.0 if full else parting(scenario, size, lambda *run: recorded(reference(*run)))
            for family in families:
                for plan in plans(family, scenario, unharmed, parting=parts, full=full):
                    yield family, str(plan)


def random(runs: int, seed: int) -> Iterator[tuple[str, str]]:
    """Family and line of so many random plans."""
    for number in range(runs):
        yield RANDOM, f"?{seed + number}"


def _settle() -> None:
    """What a process does before its first plan."""
    os.nice(NICE)
    gc.freeze()  # what is there already stays, and need not be looked through
    gc.set_threshold(GARBAGE)


def _work(task: tuple[str, str]) -> tuple[str, str, tuple[str, ...]]:
    """Play one plan. A world is one knot: before its end no garbage is found, after it all is.

    It is among what is young: what has outlived an earlier plan is kept for all, and need not be looked through.
    """
    gc.disable()
    try:
        return _judged(*task)
    finally:
        gc.enable()
        gc.collect(1)


def _judged(family: str, line: str) -> tuple[str, str, tuple[str, ...]]:
    plan = random_plan(int(line[1:]), reference) if line.startswith("?") else parse(line)
    result = judge(plan)
    if result.violations and len(plan.faults) > 1:
        plan = shrink(plan)
        result = judge(plan)
    return family, str(plan), result.violations


def run(
    tasks: Iterable[tuple[str, str]],
    *,
    processes: int,
    heard: Callable[[str, tuple[str, ...]], None],
    played: Callable[[Tally], None] = lambda tally: None,
    aside: Callable[[], list[str]] | None = None,
) -> Tally:
    """Play all of them. ``heard`` is told of each that breaks, as it breaks; ``played``, after each, how things stand.

    ``aside`` is run beside them, and what it finds is told in the end.
    """
    tally = Tally()
    with multiprocessing.get_context("fork").Pool(processes, _settle) as pool:
        beside = pool.apply_async(aside) if aside else None
        for family, line, violations in pool.imap_unordered(_work, tasks, chunksize=8):
            tally.plans[family] += 1
            if violations:
                tally.violations[family] += 1
                heard(line, violations)
            played(tally)
        if beside is not None and (found := beside.get()):
            tally.violations["soak"] += len(found)
    return tally
