"""The record as an Experiment's ``status``, and back.

Reading gives exactly the record that was written, to the microsecond. An empty status is no record; one that cannot be
read is an error for people and never a fresh start: forgetting an epoch would run two of them at once.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import asdict

from muster.api.errors import MusterError
from muster.api.status import ConditionType, ExperimentStatus, Phase
from muster.api.wire.kinds import WireError
from muster.state.vocabulary.plan import MAX_EPOCH
from muster.state.vocabulary.record import Record

HINT: Final = "if it was edited by hand, remove the status to start over"


class StatusError(MusterError):
    """The status of an Experiment cannot be understood."""


def to_status(record: Record) -> dict[str, Any]:
    """The status that holds this record."""
    return record.to_object()


def from_status(raw: object) -> Record | None:
    """The record that a status holds; None for an empty one. Raises ``StatusError``.

    Conditions of types that Muster does not have are left out: others added them, and decisions do not read them.
    """
    if not isinstance(raw, Mapping):
        raise StatusError(f"status: a mapping is expected; {HINT}")
    if not raw:
        return None
    try:
        status = ExperimentStatus.from_object(raw)
    except WireError as error:
        raise StatusError(f"status: {error}; {HINT}") from error
    if not isinstance(status.phase, Phase):
        raise StatusError(f"status: phase: {status.phase!r} is not a phase that this version of Muster has; {HINT}")
    if (most := max(status.epoch, status.restarts, status.disruptions)) > MAX_EPOCH:
        raise StatusError(f"status: {most} restarts cannot be; {HINT}")
    ours = tuple(each for each in status.conditions if isinstance(each.type, ConditionType))
    return Record(**asdict(status) | {"conditions": ours})
