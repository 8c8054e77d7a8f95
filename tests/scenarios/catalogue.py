"""All scenarios by name."""

from functools import cache

from tests.scenarios import (
    admission,
    alterations,
    arrivals,
    budgets,
    clocks,
    clusters,
    disruptions,
    endings,
    failures,
    intruders,
    jaxjobs,
    jobset_jobs,
    jobsets,
    queues,
    recurrences,
    repairs,
    run_kind_lives,
    slow_ranks,
    user_actions,
)
from tests.scenarios.scenario import Scenario

TABLES = (
    alterations,
    arrivals,
    failures,
    disruptions,
    clocks,
    user_actions,
    endings,
    intruders,
    admission,
    budgets,
    recurrences,
    slow_ranks,
    queues,
    run_kind_lives,
    jaxjobs,
    jobset_jobs,
    jobsets,
    repairs,
    clusters,
)


@cache
def scenarios() -> dict[str, Scenario]:
    """Every row of every table, sorted by name: plans and seeds depend on this order."""
    rows = [row for table in TABLES for row in table.SCENARIOS]
    by_name = {row.name: row for row in sorted(rows, key=lambda row: row.name)}
    assert len(by_name) == len(rows), "two scenarios have one name"
    return by_name
