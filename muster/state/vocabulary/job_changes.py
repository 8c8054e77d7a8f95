"""Changes of a record that run members again, or give them up, while the epoch goes on.

What a record counts of single jobs: jobs with equal counts share a row.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from muster.api.gang import MAX_MEMBERS
from muster.api.restart_counts import MAX_ATTEMPTS, MAX_JOB_COUNTS, Attempts, JobRestarts
from muster.api.values.rank_ranges import from_ranges, to_ranges
from muster.api.wire.kinds import MAX_RANGES
from muster.state.vocabulary.record import Record

NO_RESTARTS: Final = JobRestarts("")


@lru_cache(maxsize=64)
def restarts_of(rows: tuple[JobRestarts, ...]) -> Mapping[int, JobRestarts]:
    """The counts of each job, by its index among the jobs of all groups."""
    return {job: row for row in rows for job in from_ranges(row.jobs, MAX_MEMBERS)}


def rows_of(counts: Mapping[int, JobRestarts]) -> tuple[JobRestarts, ...]:
    """The rows that hold these counts; a job without any is in none."""
    equal: dict[tuple[int, int, int, float | None], list[int]] = {}
    for job in sorted(counts):
        row = counts[job]
        equal.setdefault((row.restarts, row.counted, row.failures, row.started_at), []).append(job)
    return tuple(JobRestarts(to_ranges(jobs), *values) for values, jobs in equal.items() if any(values))


@lru_cache(maxsize=64)
def ranks_of(ranges: str) -> frozenset[int]:
    """The ranks in that text."""
    return frozenset(from_ranges(ranges, MAX_MEMBERS))


def run_again(record: Record, ranks: Iterable[int], resume_at: float | None) -> Record:
    """The next attempt of those ranks, not before ``resume_at``. They are not done and not given up any more."""
    again = frozenset(ranks)
    held = {(row.attempt, row.resume_at): ranks_of(row.ranks) for row in record.attempts}
    before = {rank: row.attempt for row in record.attempts for rank in ranks_of(row.ranks) if rank in again}
    rows: dict[tuple[int, float | None], set[int]] = {key: set(kept - again) for key, kept in held.items()}
    for rank in again:
        rows.setdefault((before.get(rank, 0) + 1, resume_at), set()).add(rank)
    return replace(
        record,
        attempts=tuple(
            Attempts(to_ranges(sorted(kept)), attempt, at)
            for (attempt, at), kept in sorted(rows.items(), key=lambda row: (row[0][0], row[0][1] or 0.0))
            if kept
        ),
        completed=to_ranges(sorted(ranks_of(record.completed) - again)),
        ignored=to_ranges(sorted(ranks_of(record.ignored) - again)),
    )


def fits(record: Record) -> bool:
    """The status can hold it: its lists are bounded, and what is beyond them would be forgotten."""
    if len(record.attempts) > MAX_ATTEMPTS or len(record.job_restarts) > MAX_JOB_COUNTS:
        return False
    texts = (*(row.ranks for row in record.attempts), *(row.jobs for row in record.job_restarts), record.ignored)
    return sum(map(len, texts)) <= MAX_RANGES


def without_past(record: Record, now: float) -> Record:
    """The record without back-offs that are over, so that equal attempts are one row again."""
    rows: dict[tuple[int, float | None], set[int]] = {}
    for row in record.attempts:
        at = row.resume_at if row.resume_at is not None and row.resume_at > now else None
        rows.setdefault((row.attempt, at), set()).update(ranks_of(row.ranks))
    kept = (Attempts(to_ranges(sorted(ranks)), attempt, at) for (attempt, at), ranks in rows.items())
    return replace(record, attempts=tuple(kept))


def give_up(record: Record, ranks: Iterable[int]) -> Record:
    """Those ranks have failed, or are not needed, and are not run again in this epoch."""
    return replace(record, ignored=to_ranges(sorted(ranks_of(record.ignored) | frozenset(ranks))))


def count_failures(record: Record, failures: Mapping[int, int]) -> Record:
    """So many more failed pods of those jobs are counted."""
    rows = dict(restarts_of(record.job_restarts))
    for job, more in failures.items():
        row = rows.get(job, NO_RESTARTS)
        rows[job] = replace(row, failures=row.failures + more)
    return replace(record, job_restarts=rows_of(rows))


def count_restart(record: Record, job: int, now: float, *, counted: bool) -> Record:
    """That job runs again as a whole: its failed pods count from 0 again, and its time from now."""
    rows = dict(restarts_of(record.job_restarts))
    row = rows.get(job, NO_RESTARTS)
    rows[job] = replace(row, restarts=row.restarts + 1, counted=row.counted + counted, failures=0, started_at=now)
    return replace(record, job_restarts=rows_of(rows), restarts=record.restarts + counted)


def start_jobs(record: Record, jobs: Iterable[int], now: float) -> Record:
    """Those jobs begin now."""
    rows = dict(restarts_of(record.job_restarts))
    for job in jobs:
        rows[job] = replace(rows.get(job, NO_RESTARTS), started_at=now)
    return replace(record, job_restarts=rows_of(rows))
