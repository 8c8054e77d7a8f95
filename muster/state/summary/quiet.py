"""Quiet gangs: the time for which no rank of a running gang has made a step, if it is longer than usual.

It is a hint and no verdict: programs that report rarely are silent while they work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from muster.api.status import ExperimentStatus, Phase
from muster.api.values.durations import age

if TYPE_CHECKING:  # commands import this, and not what decisions are made of
    from muster.state.facts.context import Context

LEAST: Final = 45.0
"""Seconds of silence that are not reported."""
LONGER: Final = 5
"""Factor by which a silence that is reported is longer than usual."""
LATE: Final = 60.0
"""Seconds by which the status may be late with a step."""


def of_steps(status: ExperimentStatus, now: float) -> str:
    """Return ``no rank has made a step for 12m (usual: 4 s)``; empty if steps come as usual, or are not reported."""
    steps = status.steps
    if status.phase != Phase.RUNNING or steps is None or steps.epoch != status.epoch or not steps.at:
        return ""
    rate = float(steps.per_second or 0)
    return hint("made a step", now - steps.at, 1 / rate if rate else None, LEAST + LATE)


def seen(context: Context) -> str:
    """Return that sentence by this daemon's reads, which are not late, of a gang at work; empty while it pauses."""
    progress, tally = context.view.progress_of(context.record.epoch), context.tally
    if progress is None or tally.failed or tally.leaving or tally.gone or context.plan.lifecycle.deleting:
        return ""
    silent = (context.now if progress.sent else progress.read_at) - progress.moved_at
    return "" if silent < progress.pause else hint("made a step", silent, progress.interval, LEAST)


def hint(what: str, silent: float, usual: float | None, least: float) -> str:
    """Return the sentence; empty if the silence is shorter than that, or not much longer than usual."""
    if silent < max(least, LONGER * (usual or 0.0)):
        return ""
    known = "" if usual is None else f" (usual: {usual:.2g} s)" if usual < 100 else f" (usual: {age(usual)})"
    return f"no rank has {what} for {age(silent)}{known}"
