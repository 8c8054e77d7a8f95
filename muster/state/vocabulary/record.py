"""The record: the status of an Experiment as the daemon decides with it, as it is written and read.

``muster.api.status`` declares every field; here is what decisions read of them. Reading gives exactly the record
that was written, to the microsecond. An empty status is no record; one that cannot be read is an error for people and
never a fresh start: forgetting an epoch would run two of them at once.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from msgspec.structs import asdict

from muster.api.causes import Cause, Stuck
from muster.api.conditions import Condition, ConditionType
from muster.api.errors import MusterError
from muster.api.gang import MAX_MEMBERS, Attempts, JobRestarts
from muster.api.status import ExperimentStatus, Phase, StoryLine
from muster.api.values.rank_ranges import from_ranges, to_ranges
from muster.api.wire.kinds import WireError
from muster.api.wire.structs import facts_of
from muster.state.vocabulary.plan import MAX_EPOCH

__all__ = ["Cause", "Condition", "ConditionType", "Phase", "Record", "StoryLine"]

FINISHED = frozenset({Phase.SUCCEEDED, Phase.FAILED})
_GATHERING: Final = frozenset({Phase.PENDING, Phase.ASSEMBLING, Phase.RUNNING})
RANKS_ENDED: Final = "RanksEnded"
"""Reason of a ``Blocked``: ranks have ended with exit code 0 while others run on."""

_facts = facts_of(ExperimentStatus)


@lru_cache(maxsize=64)
def attempts_of(attempts: tuple[Attempts, ...]) -> Mapping[int, int]:
    """Return the attempt of each rank whose attempt is not 0."""
    return {rank: each.attempt for each in attempts for rank in from_ranges(each.ranks, MAX_MEMBERS)}


NO_RESTARTS: Final = JobRestarts("")


@lru_cache(maxsize=64)
def restarts_of(rows: tuple[JobRestarts, ...]) -> Mapping[int, JobRestarts]:
    """Return the counts of each job, by its index among the jobs of all groups."""
    return {job: row for row in rows for job in from_ranges(row.jobs, MAX_MEMBERS)}


def rows_of(counts: Mapping[int, JobRestarts]) -> tuple[JobRestarts, ...]:
    """Return the rows that hold these counts: jobs with equal counts share one, and a job without any is in none."""
    equal: dict[tuple[int, int, int], list[int]] = {}
    for job in sorted(counts):
        row = counts[job]
        equal.setdefault((row.restarts, row.counted, row.failures), []).append(job)
    return tuple(JobRestarts(to_ranges(jobs), *values) for values, jobs in equal.items() if any(values))


class Record(ExperimentStatus, frozen=True, gc=False, kw_only=True):
    """A status whose phase the daemon knows. ``restarts`` counts against the limit, ``disruptions`` do not."""

    phase: Phase

    @property
    def finished(self) -> bool:
        """Return True if the experiment has succeeded or failed: only the clean-up follows."""
        return self.phase in FINISHED

    @property
    def gathering(self) -> bool:
        """Return True if the gang is wanted now: its members start, gather or work."""
        return self.phase in _GATHERING

    @property
    def known(self) -> Stuck | None:
        """Return the members that block the gang; None if it is not stuck, or no member blocks it."""
        return self.stuck if self.stuck is not None and self.stuck.cause else None

    @property
    def called_stuck(self) -> Condition | None:
        """Return the condition Stuck if it is true, else None."""
        stuck = self.condition(ConditionType.STUCK)
        return stuck if stuck is not None and stuck.status else None

    @property
    def stuck_reason(self) -> str:
        """Return the reason of the condition Stuck; empty if the gang is not stuck."""
        return stuck.reason if (stuck := self.called_stuck) is not None else ""

    def attempt_of(self, rank: int) -> int:
        """Return the current attempt of that rank in this epoch."""
        return attempts_of(self.attempts).get(rank, 0) if self.attempts else 0

    def condition(self, kind: ConditionType) -> Condition | None:
        """Return the condition of that type, or None while it was never set."""
        return next((each for each in self.conditions if each.type is kind), None)

    @property
    def facts(self) -> tuple[object, ...]:
        """Return the fields whose changes must be persisted at once."""
        return _facts(self)


HINT: Final = "if it was edited by hand, remove the status to start over"


class StatusError(MusterError):
    """The status of an Experiment cannot be understood."""


def to_status(record: Record) -> dict[str, Any]:
    """Return the status that holds this record."""
    return record.to_object()


def from_status(raw: object) -> Record | None:
    """Return the record that a status holds; None for an empty one. Raises ``StatusError``.

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
