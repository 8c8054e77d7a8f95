"""The record as an Experiment's ``status``, and back.

Reading gives exactly the record that was written, to the microsecond. A status that is empty is no record; one that is
not readable is an error for people, never a fresh start: forgetting an epoch would run two of them at once.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from muster.api import status as api
from muster.api.errors import MusterError
from muster.api.values.timestamps import micro_time, seconds_of, whole_time
from muster.state.record import Cause, Condition, ConditionType, Line, Phase, Record, RollCall

REMEMBERED = 1024
"""Conditions, and lines of the story, that are not made anew: most of a status is as it was in the one before."""


class StatusError(MusterError):
    """The status of an Experiment cannot be understood."""


def to_status(record: Record) -> dict[str, Any]:
    """The status that holds this record."""
    return api.ExperimentStatus(
        phase=record.phase.value,
        phase_time=micro_time(record.phase_at),
        reason=record.reason or None,
        message=record.message or None,
        observed_generation=record.generation,
        epoch=record.epoch,
        restarts=record.restarts,
        disruptions=record.disruptions,
        ready=f"{record.ready}/{record.size}",
        coordinator=record.coordinator or None,
        start_time=_time(record.started_at),
        epoch_time=_time(record.epoch_at),
        scheduled_time=_time(record.scheduled_at),
        assembling_time=_time(record.assembling_at),
        assembled_time=_time(record.assembled_at),
        ending_time=_time(record.ending_at),
        resume_time=_time(record.resume_at),
        finish_time=_time(record.finished_at),
        update_time=micro_time(record.updated_at),
        deadline=whole_time(record.deadline) if record.deadline is not None else None,
        roll=_roll(record.roll),
        cause=_cause(record.cause),
        conditions=tuple(map(_condition_once, record.conditions)),
        story=tuple(map(_line_once, record.story)),
    ).to_object()


MAX_EPOCH = 10**8
"""No gang was ever restarted so often; and the labels of its pods have nine digits for it."""

_KNOWN = {kind.value: kind for kind in ConditionType}


def from_status(raw: object) -> Record | None:
    """The record that a status holds; None for an empty one. Raises ``StatusError``.

    Conditions that others have added are left out: what they say is not for us.
    """
    if not isinstance(raw, Mapping):
        raise StatusError("status: a mapping is expected; if it was edited by hand, remove the status to start over")
    if not raw:
        return None
    try:
        status = api.ExperimentStatus.from_object(raw)
        ready, size = _counts(status.ready)
        if (most := max(status.epoch, status.restarts, status.disruptions)) > MAX_EPOCH:
            raise ValueError(f"{most} restarts cannot be")  # noqa: TRY301 - one error for all that is wrong
        return Record(
            generation=status.observed_generation,
            phase=Phase(status.phase or ""),
            phase_at=seconds_of(status.phase_time),
            reason=status.reason or "",
            message=status.message or "",
            epoch=status.epoch,
            restarts=status.restarts,
            disruptions=status.disruptions,
            started_at=_seconds(status.start_time),
            epoch_at=_seconds(status.epoch_time),
            scheduled_at=_seconds(status.scheduled_time),
            assembling_at=_seconds(status.assembling_time),
            assembled_at=_seconds(status.assembled_time),
            ending_at=_seconds(status.ending_time),
            resume_at=_seconds(status.resume_time),
            finished_at=_seconds(status.finish_time),
            updated_at=seconds_of(status.update_time),
            deadline=_seconds(status.deadline),
            ready=ready,
            size=size,
            coordinator=status.coordinator or "",
            roll=RollCall(status.roll.expected, status.roll.arrived, status.roll.missing) if status.roll else None,
            cause=read_cause(status.cause) if status.cause else None,
            conditions=tuple(_read_condition(each) for each in status.conditions if each.type in _KNOWN),
            story=tuple(_read_line(line) for line in status.story),
        )
    except ValueError as error:
        raise StatusError(
            f"status: {_short(error)}; if it was edited by hand, remove the status to start over"
        ) from error


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else micro_time(seconds)


def _seconds(text: str | None) -> float | None:
    return None if text is None else seconds_of(text)


def _short(error: ValueError) -> str:
    return " ".join(str(error).split())[:300]


def _counts(ready: str | None) -> tuple[int, int]:
    if not ready:
        return 0, 0
    count, _, size = ready.partition("/")
    return int(count), int(size)


def _roll(roll: RollCall | None) -> api.Roll | None:
    return api.Roll(expected=roll.expected, arrived=roll.arrived, missing=roll.missing) if roll else None


def _cause(cause: Cause | None) -> api.Cause | None:
    if cause is None:
        return None
    return api.Cause(
        epoch=cause.epoch,
        reason=cause.reason,
        message=cause.message or None,
        time=micro_time(cause.at),
        pod=cause.pod or None,
        uid=cause.uid or None,
        group=cause.group or None,
        rank=cause.rank if cause.rank >= 0 else None,
        container=cause.container or None,
        node=cause.node or None,
        exit_code=cause.exit_code,
        signal=cause.signal or None,
        disruption=cause.disruption,
    )


def read_cause(cause: api.Cause) -> Cause:
    """The cause that a status holds."""
    return Cause(
        epoch=cause.epoch,
        reason=cause.reason or "",
        message=cause.message or "",
        at=seconds_of(cause.time),
        pod=cause.pod or "",
        uid=cause.uid or "",
        group=cause.group or "",
        rank=-1 if cause.rank is None else cause.rank,
        container=cause.container or "",
        node=cause.node or "",
        exit_code=cause.exit_code,
        signal=cause.signal or 0,
        disruption=cause.disruption,
    )


def _condition(condition: Condition) -> api.Condition:
    return api.Condition(
        type=condition.type.value,
        status=str(condition.status),
        reason=condition.reason,
        message=condition.message,
        observed_generation=condition.generation,
        last_transition_time=micro_time(condition.since),
    )


_condition_once = lru_cache(REMEMBERED)(_condition)


def _read_condition(condition: api.Condition) -> Condition:
    return Condition(
        type=_KNOWN[condition.type],
        status=condition.status == "True",
        reason=condition.reason or "",
        message=condition.message or "",
        generation=condition.observed_generation or 0,
        since=seconds_of(condition.last_transition_time),
    )


def _line(line: Line) -> api.StoryLine:
    return api.StoryLine(
        time=micro_time(line.at), epoch=line.epoch, reason=line.reason, message=line.message, warning=line.warning
    )


_line_once = lru_cache(REMEMBERED)(_line)


def _read_line(line: api.StoryLine) -> Line:
    return Line(seconds_of(line.time), line.epoch, line.reason, line.message or "", line.warning)
