"""Stuck and its reason come in time and go in time, and the message names what the world really did.

A scenario lists its troubles. Where no fault is injected that is a trouble by itself, Stuck is True at no other time.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from tests.scenarios.scenario import Trouble, path_of
from tests.simulation.oracles.invariants import OVER
from tests.simulation.plans.masks import PROMPT, ahead, unrecorded_epochs
from tests.simulation.plans.plan import CRASHES, FOREIGN_CHANGES
from tests.simulation.world.world import EPOCH, World

SAID = 5.0
"""Seconds within which status.message has what is wrong at the latest."""
QUIET = 8.0
"""Seconds for which a daemon that has just started listens to a silent roll."""
CLEARED = 5.0
"""Seconds within which Stuck is withdrawn."""
TROUBLESOME = ("refuse", "lose", "late", "stale", "hold", "drop", "slow-answer", "skew", "step-clock")
"""Faults by which an experiment may rightly be stuck, or be taken for it."""


@dataclass(frozen=True, slots=True)
class Said:
    """What one status had, from ``at`` to ``until`` (seconds from the beginning)."""

    at: float
    until: float
    stuck: str
    """The reason; empty while it is not stuck."""
    message: str


def troubled(world: World) -> Iterator[str]:
    """The troubles that were not reported in time, and what was reported without one."""
    statuses = _statuses(world)
    if world.plan.has(*FOREIGN_CHANGES) or unrecorded_epochs(world, "run"):
        return  # other things happened than the scenario says
    for trouble in world.scenario.troubles if world.plan.size > 1 else ():
        if world.plan.operator in trouble.operators:
            yield from _judge(world, trouble, statuses)
    if not world.plan.has(*TROUBLESOME) and not world.plan.shuffle:
        known = {each.reason for each in world.scenario.troubles}
        for said in statuses:
            if said.stuck and said.stuck not in known:
                yield f"at {said.at:.1f} s it is called stuck, {said.stuck}, although it is not: {said.message[:80]}"


def _judge(world: World, trouble: Trouble, statuses: list[Said]) -> Iterator[str]:
    late = world.plan.seconds
    if world.plan.shuffle:  # kubelets that differ in speed: each life before the trouble may take a moment longer
        late += PROMPT * len({epoch for _, _, _, epoch, _ in world.incident_log})
    if world.plan.has(*CRASHES) and trouble.within < inf:
        late += QUIET + trouble.within  # the daemon that takes over may have to wait as long again
    # A leader whose clock is ahead of the last one's ends it that much earlier.
    if trouble.until is not None and late >= trouble.until - ahead(world.plan) - trouble.since:
        return  # it may be over before the daemon hears of it
    due = trouble.since + trouble.within + late
    if (
        trouble.reason
        and trouble.within < inf
        and not any(each.stuck == trouble.reason and each.at <= due for each in statuses)
    ):
        yield f"it is not called stuck, {trouble.reason}, within {trouble.within + late:g} s"
        return
    naming = [each for each in statuses if all(word in each.message for word in trouble.words)]
    if trouble.within < inf and not any(each.at <= max(due, trouble.since + SAID + late) for each in naming):
        yield f"the message does not say {' and '.join(trouble.words)} in time"
    if trouble.until is not None and trouble.reason and statuses and statuses[-1].stuck == trouble.reason:
        yield f"it is called stuck, {trouble.reason}, forever"
    elif trouble.until is not None and trouble.reason:
        last = max((each.until for each in statuses if each.stuck == trouble.reason), default=0.0)
        if last > trouble.until + CLEARED + late:
            yield f"it is called stuck, {trouble.reason}, for {last - trouble.until:.1f} s too long"


def said_in_turn(world: World) -> Iterator[str]:
    """In a run without faults the status has what its scenario states, one after another."""
    if world.plan.faults or world.operator.of_run_kind:
        return
    changes = (each.after.get("status") for each in world.changes if each.path == path_of("run"))
    statuses = (f"{each['phase']} {each.get('reason', '')} {each.get('message', '')}" for each in changes if each)
    for wanted in world.scenario.sentences(world.plan.size):
        if not any(re.search(wanted, said) for said in statuses):
            yield f"the status does not say {wanted}, or not in its turn"
            return


def _statuses(world: World) -> list[Said]:
    changes = [each for each in world.changes if each.path == path_of("run") and each.after.get("status")]
    if not changes:
        return []
    ends = [*(change.at - EPOCH for change in changes[1:]), world.loop.time()]
    said = []
    for change, until in zip(changes, ends, strict=True):
        status = change.after["status"]
        conditions = {each["type"]: each for each in status.get("conditions", ())}
        stuck = conditions.get("Stuck", {"status": "False"})
        reason = stuck["reason"] if stuck["status"] == "True" and status["phase"] not in OVER else ""
        said.append(Said(change.at - EPOCH, until, reason, status.get("message", "")))
    return said
