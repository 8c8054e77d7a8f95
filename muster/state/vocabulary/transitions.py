"""The phases of an experiment, and which phase may follow which.

Every change of phase goes through ``enter``, which refuses one that is not in the table. ``tests/phases.py`` draws the
table. ``enter`` also resets the fields whose declared life is over (``Wire.life``).
"""

from functools import lru_cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from muster.api.errors import MusterError
from muster.api.status import ExperimentStatus
from muster.api.wire.structs import Life, shape_of
from muster.state.vocabulary.record import Phase, Record, StoryLine, restarts_of, rows_of

_AS_FROM_PENDING = {
    Phase.QUEUED: "as from Pending",
    Phase.RESTARTING: "as from Pending",
    Phase.SUSPENDED: "spec.suspend",
    Phase.SUCCEEDED: "the success rule holds",
    Phase.FAILED: "as from Pending",
}
TRANSITIONS: dict[Phase | None, dict[Phase, str]] = {
    None: {
        Phase.PENDING: "created",
        Phase.QUEUED: "created with a queue label",
        Phase.SUSPENDED: "created with spec.suspend",
    },
    Phase.QUEUED: {
        Phase.PENDING: "the queue admits it, and no pod of an older epoch may run",
        Phase.SUSPENDED: "spec.suspend",
        Phase.SUCCEEDED: "the edited spec asks for no members",
        Phase.FAILED: "a deadline, a final refusal, or spec.cancel",
    },
    Phase.SUSPENDED: {
        Phase.QUEUED: "spec.suspend is false again, and it has a queue",
        Phase.PENDING: "spec.suspend is false again; the next epoch starts",
        Phase.FAILED: "spec.cancel",
    },
    Phase.PENDING: {
        Phase.ASSEMBLING: "the first process runs",
        Phase.QUEUED: "the queue takes the quota back; the next epoch waits for it",
        Phase.RESTARTING: "a member failed, was lost, or a clock with action Restart ran out",
        Phase.SUSPENDED: "spec.suspend",
        Phase.SUCCEEDED: "the success rule holds",
        Phase.FAILED: "a deadline, the restart budget, a final refusal, or spec.cancel",
    },
    Phase.ASSEMBLING: {Phase.RUNNING: "the roll is complete", **_AS_FROM_PENDING},
    Phase.RUNNING: _AS_FROM_PENDING,
    Phase.RESTARTING: {
        Phase.PENDING: "no pod of the old epoch may run, and the back-off is over; the next epoch starts",
        Phase.QUEUED: "as from Pending",
        Phase.SUSPENDED: "spec.suspend",
        Phase.SUCCEEDED: "the edited spec asks for no members",
        Phase.FAILED: "a deadline, a final refusal, or spec.cancel",
    },
    Phase.SUCCEEDED: {},
    Phase.FAILED: {},
}
"""For each phase (None: a new experiment) the phases that may follow, and when they do."""
LAST_LINES = 8
"""Lines of the story that an illegal transition carries."""


class IllegalTransition(MusterError):
    """A decision asks for a change of phase that the table does not have: a bug of Muster.

    It has the parts of a bug report: the ``uid`` of the experiment, its ``epoch``, the two phases and the last
    lines of its ``story``, oldest first.
    """

    def __init__(self, record: Record, phase: Phase, uid: str = "") -> None:
        """Keep ``record`` as it was at the request for ``phase``; ``decide`` adds the uid."""
        self.record, self.phase, self.uid = record, phase, uid
        whose = f" (experiment {uid}, epoch {record.epoch})" if uid else ""
        super().__init__(f"phase {phase} cannot follow phase {record.phase}{whose}; please report this as a bug")

    @property
    def story(self) -> tuple[StoryLine, ...]:
        """Return the last lines of the story."""
        return self.record.story[-LAST_LINES:]


def enter(record: Record, phase: Phase, now: float, **changes: Any) -> Record:
    """Return the record at the beginning of ``phase``, with these other changes. Raises ``IllegalTransition``."""
    if phase not in TRANSITIONS[record.phase]:
        raise IllegalTransition(record, phase)
    return replace(_reset(record, Life.PHASE), phase=phase, phase_at=now, **changes)


def next_epoch(record: Record, phase: Phase, now: float, epoch: int | None = None) -> Record:
    """Return the record at the start of the next epoch (or of ``epoch``), without what holds for the old one only.

    A suspension also resets the fields that hold since the start.
    """
    entered = enter(record, phase, now, epoch=record.epoch + 1 if epoch is None else epoch)
    after = _reset(entered, Life.START if phase is Phase.SUSPENDED else Life.EPOCH)
    return replace(after, job_restarts=rows_of(restarts_of(after.job_restarts)))  # rows may have become equal


@lru_cache
def _defaults(struct: type[Struct], life: Life) -> dict[str, object]:
    """Return the fields that hold no longer than ``life``, with their defaults."""
    return {field.name: field.default for field in shape_of(struct).fields if field.wire.life <= life}


def _reset(record: Record, life: Life) -> Record:
    """Return the record with its fields that hold no longer than ``life`` at their defaults, and those of its rows."""
    changes = dict(_defaults(ExperimentStatus, life))
    for field in shape_of(ExperimentStatus).fields:
        if field.name not in changes and field.wire.most and field.items and (over := _defaults(field.items, life)):
            changes[field.name] = tuple(replace(row, **over) for row in getattr(record, field.name))
    return replace(record, **changes)
