"""A rank that computes while the others wait for it is said to compute, soon enough, and its gang is never stuck."""

from collections.abc import Iterator

from tests.scenarios.incidents import Evaluates
from tests.scenarios.scenario import path_of
from tests.simulation.plans.plan import CRASHES, FOREIGN_CHANGES, TAKEOVERS
from tests.simulation.world.collectives import PLACE
from tests.simulation.world.world import EPOCH, World

WITHIN = 75.0
"""Seconds of it within which it is said."""


def said_to_compute(world: World) -> Iterator[str]:
    """The gangs that are called stuck while a rank computes, and those of which nothing is said."""
    found = [each for each in world.scenario.incidents if isinstance(each, Evaluates)]
    if not found or world.plan.has(*FOREIGN_CHANGES):
        return
    said = False
    for change in (each for each in world.changes if each.path == path_of("run") and each.after.get("status")):
        status, at = change.after["status"], change.at - EPOCH
        stuck = [each for each in status.get("conditions", ()) if each["type"] == "Stuck" and each["status"] == "True"]
        if any(each["reason"] in ("CollectiveStuck", "Hung") for each in stuck):
            yield f"at {at:.0f} s the gang is {stuck[0]['reason']}, and its rank computes"
        said = said or f"is computing {PLACE}; 3 ranks wait for it" in status.get("message", "")
    late = sum(fault.seconds for fault in world.plan.faults)
    if not said and found[0].seconds > WITHIN + late and not world.plan.has(*CRASHES, *TAKEOVERS):
        yield "a rank computes while the others wait for it, and that is not said"
