"""What a queue costs: the API writes of a run, with and without the label."""

from collections import Counter

import pytest

from tests.simulation.plans.plan import Plan
from tests.simulation.world.world import World

MEMBERS = 4


def writes(scenario: str, name: str = "run") -> Counter[str]:
    """The daemon's writes of that experiment by resource, Events aside; it is alone in its namespace, or named."""
    world = World(Plan(scenario, MEMBERS))
    world.play()
    assert world.violations == []
    names = (f"/{name}", f"/{name}-")
    found = Counter[str]()
    for change in world.api.history.changes:
        own = {write.committed for write in world.writes}
        if change.version in own and change.resource != "events" and any(each in change.path for each in names):
            found[change.resource] += 1
    return found


@pytest.mark.parametrize(("scenario", "more"), [("happy", 0), ("queue-one-by-one", 5)])
def test_a_run_costs_n_plus_9_writes_and_five_more_in_a_queue(scenario: str, more: int) -> None:
    found = writes(scenario)
    assert found.total() <= MEMBERS + 9 + more
    assert found["workloads"] == (4 if more else 0)


def test_a_gang_restart_costs_two_writes_of_the_workload_and_an_eviction_one() -> None:
    assert writes("queue-keeps-place")["workloads"] == 4 + 2
    assert writes("queue-preempts")["workloads"] == 4 + 1 + 1, "released, and ready again"
