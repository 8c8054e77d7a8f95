"""What hurts an experiment, as its status shows it: the order in which people look at many of them.

``muster top`` has nothing but the status. The page of the daemon, which sees pods and clocks, too, computes more in
``muster.daemon.web``.
"""

from enum import StrEnum
from typing import Final

from muster.api.status import ConditionType, ExperimentStatus, Phase

RECENT: Final = 24 * 3600.0
"""Seconds for which a failed experiment stands among those that need a look."""
NEAR: Final = 600.0
"""Seconds before its end at which a deadline is near."""
HUNG: Final = "Hung"
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


_PLACES: Final = {hurt: place for place, hurt in enumerate(Hurt)}
NOTHING: Final = len(Hurt)
"""The place of an experiment that nothing hurts."""
OVER: Final = NOTHING + 1
"""The place of one that is over."""


def hurts(status: ExperimentStatus, now: float) -> tuple[Hurt, ...]:
    """What hurts, in the order of ``Hurt``."""
    if status.phase in (Phase.SUCCEEDED, Phase.FAILED):
        return (Hurt.FAILED,) if status.phase == Phase.FAILED else ()
    found = []
    stuck = next((each for each in status.conditions if each.type is ConditionType.STUCK), None)
    if stuck is not None and stuck.status:
        found = [Hurt.HUNG, Hurt.STUCK] if stuck.reason == HUNG else [Hurt.STUCK]
    if status.phase in (Phase.ASSEMBLING, Phase.RUNNING) and status.roll is not None and status.roll.missing:
        found.append(Hurt.MISSING)
    if status.phase == Phase.RESTARTING:
        found.append(Hurt.RESTARTING)
    if status.deadline is not None and status.deadline - now < NEAR:
        found.append(Hurt.DEADLINE)
    if status.phase == Phase.QUEUED:
        found.append(Hurt.QUEUED)
    return tuple(found)


def place(status: ExperimentStatus, now: float) -> int:
    """The place among many: the lower, the earlier. One that failed long ago is over."""
    found = hurts(status, now)
    if status.phase in (Phase.SUCCEEDED, Phase.FAILED):
        ended = status.finished_at or status.phase_at
        return _PLACES[Hurt.FAILED] if found and now - ended < RECENT else OVER
    return _PLACES[found[0]] if found else NOTHING
