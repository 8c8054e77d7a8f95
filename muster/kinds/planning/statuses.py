"""Reads what any object has: a part of its spec, and its conditions, whatever else they hold."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from muster.api.values.printable import MESSAGE, clean, word
from muster.api.values.timestamps import seconds_of
from muster.kinds.declaration.plan_error import PlanError
from muster.kinds.declaration.watched_kind import list_of, part_of, texts_of
from muster.state.view.own.own_state import OwnState, Said

MAX_MESSAGE = 512
"""Characters of another controller's message that are kept."""
MOST_CONDITIONS = 64
"""Conditions that are looked at; the kinds here have fewer than eight."""
S = TypeVar("S", bound=msgspec.Struct)


def read(obj: Mapping[str, Any], shape: type[S]) -> S:
    """Return that part of the spec. Raises ``PlanError``; unknown fields are left out."""
    try:
        return msgspec.convert(obj.get("spec") or {}, shape)
    except msgspec.ValidationError as error:
        raise PlanError(f"spec: {clean(str(error), MESSAGE)}") from error


def conditions_of(obj: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the conditions in the status."""
    yield from map(part_of, list_of(obj, "status", "conditions")[:MOST_CONDITIONS])


def condition_of(obj: Mapping[str, Any], kind: str) -> Mapping[str, str] | None:
    """Return the texts in the condition of that type, if it is True."""
    true = (each for each in conditions_of(obj) if each.get("type") == kind and each.get("status") == "True")
    return next(map(texts_of, true), None)


def verdict_of(obj: Mapping[str, Any], state: OwnState, said: Mapping[str, Said]) -> OwnState | None:
    """Return ``state`` with the first of these conditions that is True, by its type; None where none is.

    The object has ended when that condition became true.
    """
    for kind, verdict in said.items():
        if (found := condition_of(obj, kind)) is not None:
            at = (seconds_of(found.get("lastTransitionTime", "")) or None) if verdict.over else None
            reason, message = word(found.get("reason", "")), clean(found.get("message", ""), MAX_MESSAGE)
            return msgspec.structs.replace(state, said=verdict, reason=reason, message=message, finished_at=at)
    return None


def started_of(obj: Mapping[str, Any]) -> float | None:
    """Return ``status.startTime``, else the last resumption, else the creation; None where none is known."""
    times = [part_of(obj, "status").get("startTime")]
    resumed = (each for each in conditions_of(obj) if (each.get("type"), each.get("status")) == ("Suspended", "False"))
    times += [each.get("lastTransitionTime") for each in resumed]
    times.append(part_of(obj, "metadata").get("creationTimestamp"))
    return next((at for each in times if isinstance(each, str) and (at := seconds_of(each))), None)


def number_of(obj: Mapping[str, Any], name: str) -> int:
    """Return a counter in the status; 0 where there is none."""
    found = part_of(obj, "status").get(name)
    return found if type(found) is int and found >= 0 else 0
