"""The record of an experiment whose spec cannot be planned: Failed at once, with the reason InvalidSpec."""

from muster.state.record import Condition, ConditionType, Phase, Record, StoryLine

REASON = "InvalidSpec"


def refuse(generation: int, problem: str, now: float) -> Record:
    """The first and last record of an experiment that cannot be planned."""
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
