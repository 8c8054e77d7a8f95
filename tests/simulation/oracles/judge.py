"""Play a plan, and judge it.

Each plan is compared with the end that its scenario states, and with the run of the same scenario without faults (the
oracle of Sieve: the same end state, the same objects created and deleted). Where a fault may rightly change something,
a mask gives the reason (``plans/masks.py``).
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from tests.simulation.oracles.backoffs import backed_off
from tests.simulation.oracles.budgets import within_budget
from tests.simulation.oracles.causes import truly_named
from tests.simulation.oracles.departures import lingering
from tests.simulation.oracles.ends import accounted_for, ended, ends_as_stated
from tests.simulation.oracles.histories import history
from tests.simulation.oracles.isolation import Course, courses, unmoved
from tests.simulation.oracles.last_words import as_it_ended
from tests.simulation.oracles.objects import same_objects
from tests.simulation.oracles.recurrences import recurring
from tests.simulation.oracles.repairs import repaired
from tests.simulation.oracles.rest import at_rest, findable, nothing_kept, repeated
from tests.simulation.oracles.restarts_in_place import counted_in_place
from tests.simulation.oracles.result import Result, summarize
from tests.simulation.oracles.retention import retained
from tests.simulation.oracles.run_kinds import (
    no_pod_after_the_end,
    own_status_true,
    pods_replaced_as_stated,
    strangers_untouched,
)
from tests.simulation.oracles.slow_ranks import named_as_slow
from tests.simulation.oracles.stories import told_once
from tests.simulation.oracles.sums import added_up
from tests.simulation.oracles.troubles import said_in_turn, troubled
from tests.simulation.oracles.verdicts import computing_said, lasting, remembered
from tests.simulation.plans.plan import Plan
from tests.simulation.world.world import HORIZON, World


def play(plan: Plan, clean: Result | None = None) -> Result:
    """Play a plan and judge it; without ``clean``, by what its scenario states alone."""
    world = World(plan)
    world.play()
    if world.restless:  # stopped in the middle of a write: of the other questions only this one has a meaning then
        return Result(plan, (*world.violations, *strangers_untouched(world)), {}, HORIZON, {})
    summary = summarize(world)
    violations = (*world.violations, *_judge(world, summary, clean))
    return Result(plan, violations, summary, ended(world), courses(world), history(world) if clean is None else None)


@cache
def _alone(scenario: str, size: int, operator: str) -> Course:
    """The course of ``run`` in a clean run of that scenario."""
    return play(Plan(scenario, size, operator=operator)).courses["run"]


def _judge(world: World, summary: dict[str, Any], clean: Result | None) -> Iterator[str]:
    for name, end in world.scenario.ends.items():
        yield from ends_as_stated(world, name, end, summary["experiments"][name])
        yield from accounted_for(world, name, summary["experiments"][name])
    yield from truly_named(world)
    yield from same_objects(world, summary, clean)
    yield from lingering(world)
    yield from at_rest(world, clean)
    yield from nothing_kept(world)
    yield from findable(world)
    yield from told_once(world)
    yield from repeated(world, clean)
    yield from backed_off(world)
    yield from repaired(world)
    yield from recurring(world)
    yield from named_as_slow(world)
    yield from troubled(world)
    yield from lasting(world)
    yield from remembered(world)
    yield from computing_said(world)
    yield from as_it_ended(world)
    yield from counted_in_place(world)
    yield from said_in_turn(world)
    yield from within_budget(world)
    yield from added_up(world)
    yield from retained(world)
    yield from own_status_true(world)
    yield from no_pod_after_the_end(world)
    yield from pods_replaced_as_stated(world)
    like = world.scenario.like
    alone = _alone(like, world.plan.size, world.plan.operator) if like else None
    yield from unmoved(world, clean.courses if clean else {}, alone)
