"""Plays many plans on all processors, and reduces a violated plan to the faults it needs."""

import gc
import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

from tests.simulation.oracles.final import Result, play
from tests.simulation.plans.families import RANDOM, clean, plans, random_plan
from tests.simulation.plans.fault_points import recorded
from tests.simulation.plans.plan import Plan, parse
from tests.simulation.plans.shared_prefixes import first_difference
from tests.simulation.scenarios.catalogue import scenarios

NICE = 5
"""Plans on real time run beside these and have priority: only they can be late."""
GC_THRESHOLD = 100_000
"""Threshold of the garbage collector's youngest generation: a world is long-lived, so collecting early is useless."""


@dataclass(slots=True)
class Tally:
    """Plans played and plans violated, by family."""

    plans: Counter[str] = field(default_factory=Counter)
    violations: Counter[str] = field(default_factory=Counter)


@cache
def reference(scenario: str, size: int) -> Result:
    """The clean run of a scenario, which plans are compared with; played once per process."""
    return clean(scenarios()[scenario], size)


def judge(plan: Plan) -> Result:
    """Play a plan and compare it with its clean run."""
    return play(plan, reference(plan.scenario, plan.size))


def shrink(plan: Plan) -> Plan:
    """Remove faults and shuffling as long as the plan still fails."""
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
    """Family and text of every plan."""
    chosen = [scenario for scenario in scenarios().values() if not names or scenario.name in names]
    for scenario in chosen:
        for size in (size for size in scenario.sizes if size in sizes):
            unharmed = reference(scenario.name, size)
            until = 0.0 if full else first_difference(scenario, size, lambda *run: recorded(reference(*run)))
            for family in families:
                for plan in plans(family, scenario, unharmed, until=until, full=full):
                    yield family, str(plan)


def random(runs: int, seed: int) -> Iterator[tuple[str, str]]:
    """Family and text of ``runs`` random plans."""
    for number in range(runs):
        yield RANDOM, f"?{seed + number}"


def _init_worker() -> None:
    """Runs once in each process of the pool."""
    os.nice(NICE)
    gc.freeze()  # objects that exist already are never garbage here
    gc.set_threshold(GC_THRESHOLD)


def _work(task: tuple[str, str]) -> tuple[str, str, tuple[str, ...]]:
    """Play one plan without garbage collection, then collect.

    A world is one cycle of references, so there is no garbage before it ends. Only the two younger generations are
    collected: what has survived an earlier plan is kept for all plans.
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
    on_violation: Callable[[str, tuple[str, ...]], None],
    on_played: Callable[[Tally], None] = lambda tally: None,
    beside: Callable[[], list[str]] | None = None,
) -> Tally:
    """Play all tasks. ``on_violation`` is called for each violated plan, ``on_played`` after each plan.

    ``beside`` runs in the same pool; its violations are counted at the end.
    """
    tally = Tally()
    with multiprocessing.get_context("fork").Pool(processes, _init_worker) as pool:
        besides = pool.apply_async(beside) if beside else None
        for family, line, violations in pool.imap_unordered(_work, tasks, chunksize=8):
            tally.plans[family] += 1
            if violations:
                tally.violations[family] += 1
                on_violation(line, violations)
            on_played(tally)
        if besides is not None and (found := besides.get()):
            tally.violations["soak"] += len(found)
    return tally
