"""A finished experiment with a ttl is deleted in time, and never before its end is persisted."""

from collections.abc import Iterator

from muster.api.values.durations import parse_duration
from tests.scenarios.scenario import path_of
from tests.simulation.oracles.departures import GRACE
from tests.simulation.oracles.invariants import OVER
from tests.simulation.plans.masks import PROMPT, ahead
from tests.simulation.plans.plan import FOREIGN_CHANGES
from tests.simulation.world.world import World


def retained(world: World) -> Iterator[str]:
    """``run`` is there until its ttl is over, and gone soon after."""
    ttl = world.scenario.spec.get("ttlAfterFinished")
    if ttl is None or world.plan.has(*FOREIGN_CHANGES):
        return
    path, over, gone = path_of("run"), None, None
    running: set[str] = set()
    for change in world.changes:
        if change.resource == "pods":
            ended = change.kind == "DELETED" or change.after.get("status", {}).get("phase") in OVER
            (running.discard if ended else running.add)(change.path)
        if change.path != path:
            continue
        phase = (change.after.get("status") or {}).get("phase")
        if change.kind == "DELETED":
            gone = change.at
            if phase not in OVER:
                yield f"run is deleted while its status says {phase}"
            # (A leader whose clock is ahead of the last one's finds that they have not stopped in time.)
            if running and over is not None and gone < over + GRACE - ahead(world.plan):
                yield f"run is deleted while {len(running)} of its pods are being stopped"
        elif over is None and phase in OVER:
            over = change.at
    if over is None:
        return
    due = over + parse_duration(ttl)
    faults = world.plan.seconds
    skew = sum(abs(float(fault.how or 0.0)) for fault in world.plan.faults if fault.kind in ("skew", "failover"))
    early, late = PROMPT + ahead(world.plan) + skew, PROMPT + faults + skew
    if gone is not None and gone < due - early:
        yield f"run is deleted {due - gone:.1f} s before its ttl is over"
    if gone is None or gone > due + late:
        yield f"run is not deleted when its ttl is over, but {'never' if gone is None else f'{gone - due:.1f} s later'}"
