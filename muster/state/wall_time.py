"""Persisted times under a wall clock that is set: by NTP, by a person, or because another daemon's clock differs.

Clocks and back-offs are persisted times plus constants, so they move with the wall clock. Two corrections keep them:

- Within the life of one daemon a step is measured (``daemon.wall_clock``), and the persisted times of what still runs
  are moved by it: a step ends nothing early and delays nothing.
- Across daemons wall time is all there is. A persisted time that lies in the future is taken for now, so a back-off
  never lasts longer than it was to last from now on, and a clock at most its whole length.
"""

from msgspec.structs import replace

from muster.state.plan import Plan
from muster.state.record import Record
from muster.state.rules import Moment

TOLERANCE = 1.0
"""Seconds that clocks of two machines may differ without a correction."""
_RUNNING = tuple(moment.value for moment in Moment if moment is not Moment.FINISHED)
_AFTER_THE_END = ("ending_at", "delete_at")
_PHASE = ("phase_at", "broken_at", *_RUNNING)


def moved(record: Record, seconds: float) -> Record:
    """The record after a step of the wall clock: its running times lie as far back as before."""
    if not seconds:
        return record
    if record.finished:
        times = {name: _plus(getattr(record, name), seconds) for name in _AFTER_THE_END}
        return replace(record, **times)
    changes: dict[str, object] = {name: _plus(getattr(record, name), seconds) for name in (*_PHASE, "resume_at")}
    if record.blocked:
        times = {"since": record.blocked.since + seconds, "gone_at": _plus(record.blocked.gone_at, seconds)}
        changes["blocked"] = replace(record.blocked, **times)
    changes |= _restarts_moved(record, seconds)
    return replace(record, **changes)


def _restarts_moved(record: Record, seconds: float) -> dict[str, object]:
    """The times of restarts: of the budget's window, and at which members run again."""
    changes: dict[str, object] = {}
    if record.restarted_at:
        changes["restarted_at"] = tuple(at + seconds for at in record.restarted_at)
    if record.job_restarts:
        rows = record.job_restarts
        changes["job_restarts"] = tuple(replace(each, started_at=_plus(each.started_at, seconds)) for each in rows)
    if record.attempts:
        changes["attempts"] = tuple(replace(each, resume_at=_plus(each.resume_at, seconds)) for each in record.attempts)
    return changes


def not_in_the_future(plan: Plan, record: Record, now: float) -> Record:
    """The record without times in the future; the end of a back-off is as far from now as it may be."""
    limit = now + TOLERANCE
    changes: dict[str, object] = {}
    names = ("ending_at",) if record.finished else _PHASE
    for name in names:
        at = getattr(record, name)
        if at is not None and at > limit:
            changes[name] = now
    if (held := record.blocked) and max(held.since, held.gone_at or 0.0) > limit:
        gone_at = None if held.gone_at is None else min(held.gone_at, now)
        changes["blocked"] = replace(held, since=min(held.since, now), gone_at=gone_at)
    if record.delete_at is not None and plan.ttl is not None and record.delete_at > limit + plan.ttl:
        changes["delete_at"] = now + plan.ttl
    if record.resume_at is not None:
        ahead = record.phase_at - now if record.phase_at > limit else 0.0
        resume_at = min(record.resume_at - ahead, now + plan.backoff.maximum)
        if resume_at != record.resume_at:
            changes["resume_at"] = resume_at
    latest = now + plan.backoff.maximum
    if any((each.resume_at or 0.0) > latest for each in record.attempts):
        changes["attempts"] = tuple(
            each if (each.resume_at or 0.0) <= latest else replace(each, resume_at=latest) for each in record.attempts
        )
    if any(at > limit for at in record.restarted_at):
        changes["restarted_at"] = tuple(min(at, now) for at in record.restarted_at)
    return replace(record, **changes) if changes else record


def _plus(at: float | None, seconds: float) -> float | None:
    return None if at is None else at + seconds
