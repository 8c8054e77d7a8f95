"""The records of experiments that cannot be planned.

One whose spec cannot be planned is Failed at once, with the reason InvalidSpec. One that has begun, and whose spec was
edited while no daemon ran, is Stuck with that reason: its pods still run. One whose status cannot be read is left as it
is, so it has no record; people are shown that it is stuck.
"""

from math import inf

from msgspec.structs import replace

from muster.state.summary.history import append
from muster.state.vocabulary.record import Condition, ConditionType, Phase, Record, StoryLine

REASON = "InvalidSpec"
UNREADABLE = "StatusUnreadable"
"""Reason that is shown for an experiment whose status cannot be read."""


def refuse(generation: int, problem: str, now: float) -> Record:
    """Return the first and last record of an experiment that cannot be planned."""
    line = StoryLine(now, 0, REASON, problem, warning=True)
    over = (ConditionType.FAILED, ConditionType.FINISHED)
    return Record(
        generation=generation,
        phase=Phase.FAILED,
        phase_at=now,
        reason=REASON,
        message=problem,
        finished_at=now,
        updated_at=now,
        conditions=tuple(Condition(kind, True, REASON, problem, generation, now) for kind in over),
        story=(line,),
    )


def halt(record: Record, generation: int, problem: str, now: float) -> Record | None:
    """Return the record of a run that can no longer be planned; None if it has that already, or has ended."""
    known = record.condition(ConditionType.STUCK)
    if record.finished or (known and known.status and (known.reason, known.generation) == (REASON, generation)):
        return None
    message = f"{problem}; Muster leaves the pods as they are until the spec can be run"
    stuck = Condition(ConditionType.STUCK, True, REASON, message, generation, now)
    others = tuple(each for each in record.conditions if each.type != ConditionType.STUCK)
    line = StoryLine(now, record.epoch, REASON, message, warning=True)
    return replace(
        record,
        reason=REASON,
        message=message,
        updated_at=now,
        conditions=(*others, stuck),
        story=append(record.story, (line,)),
    )


def unreadable(problem: str) -> Record:
    """Return what is shown if a status cannot be read; it is never written. Since when is not known."""
    message = f"{problem}; Muster does nothing with it until its status can be read"
    stuck = Condition(ConditionType.STUCK, True, UNREADABLE, message, 0, -inf)
    return Record(phase=Phase.PENDING, phase_at=-inf, reason=UNREADABLE, message=message, conditions=(stuck,))
