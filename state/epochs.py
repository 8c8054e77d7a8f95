"""The beginning of an epoch: what a record keeps of the one before."""

from muster.state.policies.failures import repair
from muster.state.record import Phase, Record
from muster.state.transitions import enter


def next_epoch(record: Record, phase: Phase, now: float, epoch: int | None = None) -> Record:
    """The record at the start of the next epoch (or of ``epoch``), without the times and the roll of the old one."""
    return enter(
        record,
        phase,
        now,
        epoch=record.epoch + 1 if epoch is None else epoch,
        epoch_at=None,
        scheduled_at=None,
        assembling_at=None,
        assembled_at=None,
        resume_at=None,
        roll=None,
        progressed_at=None,
        shape="",
        completed="",
        attempts=(),
        ignored="",
        job_restarts=repair.without_failures(record.job_restarts),
    )
