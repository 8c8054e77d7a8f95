"""Times under a wall clock that is set: by NTP, by a person, or because another daemon's clock differs.

Clocks and back-offs are persisted times plus constants, so they move with the wall clock. Each such time is declared
so: ``Wire(moves=True)`` in the status, ``WallTime`` in the view. Two corrections keep them:

- Within the life of one daemon a step is measured (``daemon.clocks``), and the times of what still runs are moved
  by it: a step ends nothing early and delays nothing.
- Across daemons only wall time exists. A persisted time in the future is taken for now, so a back-off
  never lasts longer than it was to last from now on, and a clock at most its whole length.
"""

from collections.abc import Callable
from dataclasses import is_dataclass
from dataclasses import replace as edited
from functools import lru_cache
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

from msgspec import Struct
from msgspec.structs import replace

from muster.api.status import ExperimentStatus
from muster.api.wire.structs import Wire, shape_of
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Record

TOLERANCE = 1.0
"""Seconds that clocks of two machines may differ without a correction."""

_MOVES: Final = object()
WallTime = Annotated[float, _MOVES]
"""A wall second, in memory, that a step of the wall clock moves. 0 is none."""


def moving(kind: type) -> tuple[str, ...]:
    """Return the fields of a struct or a dataclass that a step of the wall clock moves, or that hold such fields."""
    return _moving(kind)


@lru_cache
def _moving(kind: type) -> tuple[str, ...]:
    hints = get_type_hints(kind, include_extras=True)
    return tuple(name for name, hint in hints.items() if _moves(hint))


def _moves(hint: Any) -> bool:
    if get_origin(hint) is Annotated:
        declared = any(mark is _MOVES or (isinstance(mark, Wire) and mark.moves) for mark in get_args(hint)[1:])
        return declared or _moves(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType, tuple):
        return any(map(_moves, get_args(hint)))
    if not isinstance(hint, type):
        return False
    value = is_dataclass(hint) and vars(hint)["__dataclass_params__"].frozen  # its objects are replaced, not changed
    return (value or issubclass(hint, Struct)) and bool(moving(hint))


_AHEAD: Final = ("resume_at", "delete_at", "attempts")
"""Times that may be in the future, as far as the plan allows."""
_RUNNING: Final = moving(ExperimentStatus)
_AFTER_THE_END: Final = tuple(field.name for field in shape_of(ExperimentStatus).fields if field.wire.after_end)


def moved(record: Record, seconds: float) -> Record:
    """Return the record after a step of the wall clock: its running times are as far back as before."""
    if not seconds:
        return record
    names = _AFTER_THE_END if record.finished else _RUNNING
    return replace(record, **{name: stepped(getattr(record, name), seconds) for name in names})


def stepped(value: Any, seconds: float) -> Any:
    """Return a time, or a value that holds times, after a step of the wall clock."""
    return _with_times(value, lambda at: at + seconds)


def step(holder: object, seconds: float) -> None:
    """Move the times of an object that is changed in place."""
    for name in moving(type(holder)):
        setattr(holder, name, stepped(getattr(holder, name), seconds))


def not_in_the_future(plan: Plan, record: Record, now: float) -> Record:
    """Return the record without times in the future; the end of a back-off is as far from now as it may be."""
    limit = now + TOLERANCE
    changes: dict[str, object] = {}
    for name in _AFTER_THE_END if record.finished else _RUNNING:
        if name not in _AHEAD and _latest(held := getattr(record, name)) > limit:
            changes[name] = _with_times(held, lambda at: min(at, now))
    stays = plan.lifecycle.stays
    if record.delete_at is not None and stays is not None and record.delete_at > limit + stays:
        changes["delete_at"] = now + stays
    if record.resume_at is not None:
        ahead = record.phase_at - now if record.phase_at > limit else 0.0
        resume_at = min(record.resume_at - ahead, now + plan.restarts.backoff.maximum)
        if resume_at != record.resume_at:
            changes["resume_at"] = resume_at
    latest = now + plan.restarts.backoff.maximum
    if record.attempts and _latest(record.attempts) > latest:
        changes["attempts"] = _with_times(record.attempts, lambda at: min(at, latest))
    return replace(record, **changes) if changes else record


def _latest(value: Any) -> float:
    """Return the latest of the moving times in a value; 0 if it has none."""
    if not value:
        return 0.0
    if isinstance(value, float | int):
        return float(value)
    inside = value if isinstance(value, tuple) else [getattr(value, name) for name in moving(type(value))]
    return max(map(_latest, inside), default=0.0)


def _with_times(value: Any, change: Callable[[float], float]) -> Any:
    """Return the value with ``change`` applied to each of its moving times."""
    if not value:
        return value
    if isinstance(value, float | int):
        return change(value)
    if isinstance(value, tuple):
        return tuple(_with_times(each, change) for each in value)
    changes = {name: _with_times(getattr(value, name), change) for name in moving(type(value))}
    return replace(value, **changes) if isinstance(value, Struct) else edited(value, **changes)
