"""What hurts an experiment, for the filters of the page and the order of its rows.

An experiment may have several of these; the first in the order below decides its place among the rows.
"""

from collections.abc import Mapping
from enum import StrEnum

from muster.metrics.arrivals import arrivals
from muster.state.plan import Plan
from muster.state.record import FINISHED, ConditionType, Phase, Record
from muster.state.rules import ClockName
from muster.state.view.view import View

RECENT = 24 * 3600.0
"""Seconds for which a failed experiment stands among those that need a look."""
NEAR = 600.0
"""Seconds before the end of a clock at which a deadline is near, unless a tenth of the clock is shorter."""
NEAR_SHARE = 0.1

HUNG = "Hung"
"""The reason of a condition Stuck whose programs run and make no step."""


class Hurt(StrEnum):
    """What hurts, the worst first."""

    HUNG = "hung"
    """Its programs run, and make no step."""
    STUCK = "stuck"
    """Its condition Stuck is true."""
    MISSING = "missing"
    """Its programs run, and ranks are missing from the roll."""
    RESTARTING = "restarting"
    """Its gang is taken down and started again."""
    DEADLINE = "deadline"
    """One of its clocks runs out soon, or has run out."""
    FAILED = "failed"
    """It has failed."""
    QUEUED = "queued"
    """It waits for the admission of a queue."""


TITLES = {
    Hurt.HUNG: "hung",
    Hurt.STUCK: "stuck",
    Hurt.MISSING: "ranks missing",
    Hurt.RESTARTING: "restarting",
    Hurt.DEADLINE: "deadline near",
    Hurt.FAILED: "failed",
    Hurt.QUEUED: "queued",
}
"""The words for each on the page."""

_PLACES = {hurt: place for place, hurt in enumerate(Hurt)}
NOTHING = len(Hurt)
"""The place of an experiment that nothing hurts."""
OVER = NOTHING + 1
"""The place of one that is over."""


def hurts(plan: Plan, record: Record, view: View, ends: Mapping[ClockName, float], now: float) -> tuple[Hurt, ...]:
    """What hurts that experiment, in the order of `Hurt`; ``ends`` says when its running clocks run out."""
    phase = record.phase
    if phase in FINISHED:
        return (Hurt.FAILED,) if phase is Phase.FAILED else ()
    found = []
    stuck = record.condition(ConditionType.STUCK)
    if stuck is not None and stuck.status:
        found = [Hurt.HUNG, Hurt.STUCK] if stuck.reason == HUNG else [Hurt.STUCK]
    if phase is Phase.ASSEMBLING or phase is Phase.RUNNING:
        roll = arrivals(plan, record, view)
        if roll is not None and roll.missing:
            found.append(Hurt.MISSING)
    elif phase is Phase.RESTARTING:
        found.append(Hurt.RESTARTING)
    if ends and any(end - now < near(plan, name) for name, end in ends.items()):
        found.append(Hurt.DEADLINE)
    if phase is Phase.QUEUED:
        found.append(Hurt.QUEUED)
    return tuple(found)


def near(plan: Plan, name: ClockName) -> float:
    """How many seconds before its end that clock is near it."""
    clock = plan.clock(name)
    return min(NEAR, NEAR_SHARE * clock.after) if clock is not None else NEAR


def place(record: Record, found: tuple[Hurt, ...], now: float) -> int:
    """The place among the rows: the lower, the earlier."""
    if record.finished:
        recent = record.phase is Phase.FAILED and now - (record.finished_at or record.phase_at) < RECENT
        return _PLACES[Hurt.FAILED] if recent else OVER
    return _PLACES[found[0]] if found else NOTHING
