"""Reads what any watched object has: a part of its spec, and its conditions, whatever else they hold."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from muster.api.values.printable import MESSAGE, clean, word
from muster.api.values.timestamps import seconds_of
from muster.kinds.declaration.plan_error import PlanError
from muster.state.view.own.own_state import OwnState, Said

MAX_MESSAGE = 512
"""Characters of another controller's message that are kept."""
MOST_CONDITIONS = 64
"""Conditions that are looked at; the kinds here have fewer than eight."""
S = TypeVar("S", bound=msgspec.Struct)


class OwnCondition(msgspec.Struct, frozen=True):
    """One condition (meta/v1 Condition, and those of batch/v1 and kubeflow.org/v1)."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    lastTransitionTime: str = ""  # noqa: N815 - the wire's name


def read(obj: Mapping[str, Any], shape: type[S]) -> S:
    """Return that part of the spec. Raises ``PlanError``; unknown fields are left out."""
    try:
        return msgspec.convert(obj.get("spec") or {}, shape)
    except msgspec.ValidationError as error:
        raise PlanError(f"spec: {clean(str(error), MESSAGE)}") from error


def condition_of(obj: Mapping[str, Any], kind: str) -> OwnCondition | None:
    """Return the condition of that type, if it is True."""
    status = obj.get("status")
    found = status.get("conditions") if isinstance(status, Mapping) else None
    for each in found[:MOST_CONDITIONS] if isinstance(found, list) else ():
        if isinstance(each, Mapping) and each.get("type") == kind and each.get("status") == "True":
            names = ("reason", "message", "lastTransitionTime")
            return OwnCondition(kind, "True", **{key: text for key in names if isinstance(text := each.get(key), str)})
    return None


def verdict_of(obj: Mapping[str, Any], state: OwnState, said: Mapping[str, Said]) -> OwnState | None:
    """Return ``state`` with the first of these conditions that is True, by its type; None where none is.

    The object has ended when that condition became true.
    """
    for kind, verdict in said.items():
        if (found := condition_of(obj, kind)) is not None:
            at = (seconds_of(found.lastTransitionTime) or None) if verdict.over else None
            reason, message = word(found.reason), clean(found.message, MAX_MESSAGE)
            return msgspec.structs.replace(state, said=verdict, reason=reason, message=message, finished_at=at)
    return None


def started_of(obj: Mapping[str, Any]) -> float | None:
    """Return ``status.startTime``, else the last resumption, else the creation; None where none is known."""
    status, metadata = obj.get("status"), obj.get("metadata")
    times = [status.get("startTime") if isinstance(status, Mapping) else None]
    conditions = status.get("conditions") if isinstance(status, Mapping) else None
    found = conditions[:MOST_CONDITIONS] if isinstance(conditions, list) else []
    rows = [each for each in found if isinstance(each, Mapping) and each.get("type") == "Suspended"]
    times += [each.get("lastTransitionTime") for each in rows if each.get("status") == "False"]
    times.append(metadata.get("creationTimestamp") if isinstance(metadata, Mapping) else None)
    return next((at for each in times if isinstance(each, str) and (at := seconds_of(each))), None)


def number_of(obj: Mapping[str, Any], name: str) -> int:
    """Return a counter in the status; 0 where there is none."""
    status = obj.get("status")
    found = status.get(name) if isinstance(status, Mapping) else None
    return found if type(found) is int and found >= 0 else 0
