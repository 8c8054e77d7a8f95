"""Plays many plans on all processors, and reduces a violated plan to the faults it needs."""

import gc
import multiprocessing
import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from multiprocessing.pool import IMapIterator, Pool
from typing import TypeVar

from tests.scenarios.catalogue import scenarios
from tests.scenarios.operators import JAX
from tests.simulation.oracles.judge import play
from tests.simulation.oracles.result import Result
from tests.simulation.plans.families import RANDOM, clean, gangs, plans, random_plan, spare_gangs
from tests.simulation.plans.plan import Plan, parse
from tests.simulation.plans.share import Share

NICE = 15
"""In CI tests on real time run beside these, and have priority: only they can be late."""
GC_THRESHOLD = 100_000
"""Threshold of the garbage collector's youngest generation: a world is long-lived, so collecting early is useless."""
CHUNK = 8
"""Plans per task."""
LIFETIME = 32
"""Tasks of one process: 256 plans leave about 240 MB."""
PATIENCE = 1200.0
"""Seconds within which some task ends, also at a low priority beside all that CI runs."""

T = TypeVar("T")


@dataclass(slots=True)
class Tally:
    """Plans played, plans violated and seconds of CPU, by family; and the seconds by scenario."""

    plans: Counter[str] = field(default_factory=Counter)
    violations: Counter[str] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    by_scenario: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))


@cache
def reference(scenario: str, size: int, operator: str = JAX.name) -> Result:
    """The clean run of a scenario, which plans are compared with; played once per process."""
    return clean(scenario, size, operator)


def judge(plan: Plan) -> Result:
    """Play a plan and compare it with its clean run."""
    return play(plan, reference(plan.scenario, plan.size, plan.operator))


def shrink(plan: Plan) -> Plan:
    """Remove faults and shuffling as long as the plan still fails."""
    smaller = [plan.without(fault) for fault in plan.faults]
    if plan.shuffle:
        smaller.insert(0, replace(plan, seed=0, shuffle=False))
    for each in smaller:
        if judge(each).violations:
            return shrink(each)
    return plan


def exhaustive(
    families: Iterable[str],
    names: Collection[str] = (),
    *,
    operators: Collection[str] = (),
    sizes: Collection[int] = (),
    everywhere: bool = False,
    share: bool = False,
    part: int = 1,
) -> Iterator[tuple[str, str]]:
    """Family and text of every plan; an empty collection chooses all. ``share``: one of each cell, or one in ``part``
    of these."""
    for scenario in (each for each in scenarios().values() if not names or each.name in names):
        of_scenario = Share(scenario.name, part)
        for size, operator in gangs(scenario):
            if (not sizes or size in sizes) and (not operators or operator in operators):
                unharmed = reference(scenario.name, size, operator)
                for family in families:
                    found = plans(family, unharmed, everywhere=everywhere)
                    for plan in of_scenario.of(family, found, unharmed) if share else found:
                        yield family, str(plan)
        for size, operator in spare_gangs(scenario) if "clean" in families else ():
            if (not sizes or size in sizes) and (not operators or operator in operators):
                yield "clean", str(Plan(scenario.name, size, operator=operator))


def random(runs: int, seed: int) -> Iterator[tuple[str, str]]:
    """Family and text of ``runs`` random plans."""
    for number in range(runs):
        yield RANDOM, f"?{seed + number}"


def pool(processes: int, lifetime: int) -> Pool:
    """Processes that play plans at a low priority, each replaced after that many tasks.

    A world is one cycle of references of about a megabyte. To collect it takes a fifth of the time of a plan, so
    nothing is collected: a process ends, and its memory with it.
    """
    return multiprocessing.get_context("fork").Pool(processes, _init_worker, maxtasksperchild=lifetime)


def outcomes(found: "IMapIterator[T]", patience: float = PATIENCE) -> Iterator[T]:
    """The results of a pool. Raises TimeoutError where none comes: a pool waits forever for a process that was killed.

    The kernel kills one that takes all of the memory, and ``multiprocessing`` does not notice.
    """
    while True:
        try:
            yield found.next(timeout=patience)
        except StopIteration:
            return
        except multiprocessing.TimeoutError as error:
            raise TimeoutError(f"no plan has ended for {patience:g} s: was a process killed for its memory?") from error


def _init_worker() -> None:
    os.nice(NICE)
    gc.freeze()  # objects that exist already are never garbage here
    gc.set_threshold(GC_THRESHOLD)
    gc.disable()


def _work(tasks: Sequence[tuple[str, str]]) -> list[tuple[str, str, tuple[str, ...], float]]:
    """Play these plans, each with the seconds of CPU that it took."""
    return [_timed(task) for task in tasks]


def _timed(task: tuple[str, str]) -> tuple[str, str, tuple[str, ...], float]:
    began = time.process_time()
    family, line, violations = _judged(*task)
    return family, line, violations, time.process_time() - began


def _collected(beside: Callable[[], list[str]]) -> list[str]:
    """Run it with the garbage collector: it is long."""
    gc.enable()
    try:
        return beside()
    finally:
        gc.disable()


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
    listed = list(tasks)
    batches = [listed[start : start + CHUNK] for start in range(0, len(listed), CHUNK)]
    with pool(processes, LIFETIME) as players:
        besides = players.apply_async(_collected, (beside,)) if beside else None
        played = outcomes(players.imap_unordered(_work, batches))
        for family, line, violations, seconds in chain.from_iterable(played):
            tally.plans[family] += 1
            tally.seconds[family] += seconds
            tally.by_scenario[parse(line).scenario] += seconds
            if violations:
                tally.violations[family] += 1
                on_violation(line, violations)
            on_played(tally)
        if besides is not None and (found := besides.get(PATIENCE)):
            tally.violations["soak"] += len(found)
    return tally
