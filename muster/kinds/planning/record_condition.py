"""The record of an object of another kind: a condition in its own status.

The message of the condition ``muster.dev/Record`` is the record as compact JSON, in the form that an Experiment's
status has, without the story (which Events hold). So one PUT of the status, under one resourceVersion, persists the
record and the kind's own status together. It is always the first condition: the columns of ``kubectl get`` show the
last one.

A condition's message has at most 32,768 characters (metav1.Condition). A record that would be longer loses the evidence
of its epochs, the oldest first, then its sentences, and then the last ranks that are done.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from muster.api.values.timestamps import whole_time
from muster.kinds.declaration import list_of
from muster.state.vocabulary.record import Record, StatusError, from_status, to_status

TYPE: Final = "muster.dev/Record"
REASON: Final = "Persisted"
MOST: Final = 32_768
"""Characters of a condition's message (metav1.Condition)."""
MOST_CONDITIONS: Final = 256
"""Conditions of an object that are looked at; Kubernetes' own kinds have fewer than 16."""


def with_record(status: Mapping[str, Any], record: Record) -> dict[str, Any]:
    """Return the kind's own status with the record in it."""
    own = [each for each in status.get("conditions") or () if each.get("type") != TYPE]
    return {**status, "conditions": [to_condition(record), *own]}


def to_condition(record: Record) -> dict[str, Any]:
    """Return the condition that holds this record."""
    return {
        "type": TYPE,
        "status": "True",
        "reason": REASON,
        "message": _message(record),
        "lastTransitionTime": whole_time(record.updated_at),
    }


def from_object(status: object) -> Record | None:
    """Return the record in the status of an object of another kind, None where it has none. Raises ``StatusError``."""
    message = _found(status)
    if message is None:
        return None
    try:
        raw = json.loads(message)
    except (ValueError, RecursionError) as error:
        raise StatusError(f"condition {TYPE}: its message is not a record: {error}") from error
    if not isinstance(raw, dict) or not raw:
        raise StatusError(f"condition {TYPE}: its message is not a record")
    return from_status(raw)


def without_record(status: object) -> dict[str, Any]:
    """Return the kind's own status as it was persisted, without what is not a condition.

    An empty list of conditions is left out: a kind's own controller writes none, and a status that differs is written.
    """
    if not isinstance(status, Mapping):
        return {}
    own = [dict(each) for each in _conditions(status) if each.get("type") != TYPE]
    others = {key: value for key, value in status.items() if key != "conditions"}
    return {"conditions": own, **others} if own else others


def _found(status: object) -> str | None:
    if status is None:
        return None
    if not isinstance(status, Mapping):
        raise StatusError("status: a mapping is expected")
    for each in _conditions(status):
        if each.get("type") == TYPE:
            message = each.get("message")
            if not isinstance(message, str) or len(message) > MOST:
                raise StatusError(f"condition {TYPE}: its message is not a record")
            return message
    return None


def _conditions(status: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [each for each in list_of(status, "conditions")[:MOST_CONDITIONS] if isinstance(each, Mapping)]


def _message(record: Record) -> str:
    whole = replace(record, story=())
    while len(message := _compact(whole)) > MOST and whole.evidence:
        whole = replace(whole, evidence=whole.evidence[1:])
    if len(message) <= MOST:
        return message
    short = replace(
        whole,
        message="",
        cause=replace(whole.cause, message="", last_line="", evidence="") if whole.cause else None,
        stuck=replace(whole.stuck, evidence="") if whole.stuck else None,
        conditions=tuple(replace(each, message="") for each in whole.conditions),
    )
    while len(message := _compact(short)) > MOST and short.completed:
        short = replace(short, completed=short.completed[: len(short.completed) // 2].rpartition(",")[0])
    return message


def _compact(record: Record) -> str:
    return json.dumps(to_status(record), ensure_ascii=False, separators=(",", ":"))
