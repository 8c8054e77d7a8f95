"""What a record counts of single jobs: jobs with equal counts share a row."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from muster.api.gang import MAX_MEMBERS
from muster.api.restart_counts import JobRestarts
from muster.api.values.rank_ranges import from_ranges, to_ranges

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
