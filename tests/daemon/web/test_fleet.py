"""The experiments that a page of the fleet shows, their order, and the counts of its filters."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from muster.daemon.web.fleet import SLICE, Filters, Fleet, fleet
from muster.metrics.collector import Subject
from muster.rollcall.make import hurts
from muster.state.facts.incidents.signs import Run
from muster.state.summary.hurt import NEAR, Hurt
from muster.state.view.roll import RankState
from muster.state.vocabulary.record import Condition, ConditionType, Phase
from muster.state.vocabulary.rules import ClockAction, ClockName
from tests.builders import NOW, Clock, answer, plan, pod, record, view

DAY = 24 * 3600.0


def subject(name: str, *, namespace: str = "team", operator: str = "jax", **facts: Any) -> Subject:
    """Return an experiment of four ranks that have all arrived, unless these facts differ."""
    states = facts.pop("states", (RankState.CONNECTED,) * 4)
    total = {ClockName.TOTAL: Clock(DAY, ClockAction.FAIL)}
    of = plan(uid=name, name=name, namespace=namespace, operator=operator, clocks=total)
    seen = view(*(pod(rank) for rank in range(4)), heard=answer(*states))
    return Subject(of, record(**{"started_at": NOW - 60, "phase": Phase.RUNNING} | facts), seen)


def stuck(reason: str) -> tuple[Condition, ...]:
    return (Condition(ConditionType.STUCK, True, reason, "", 1, NOW),)


HUNG = subject("hung", conditions=stuck("Hung"))
STUCK = subject("stuck", conditions=stuck("CoordinatorNotServing"))
MISSING = subject("missing", phase=Phase.ASSEMBLING, states=(RankState.ARRIVED, RankState.MISSING) * 2)
RESTARTING = subject("restarting", phase=Phase.RESTARTING)
LATE = subject("late", started_at=NOW - DAY + NEAR - 1)
FAILED = subject("failed", phase=Phase.FAILED, finished_at=NOW - 60)
QUEUED = subject("queued", phase=Phase.QUEUED)
FINE = subject("fine", namespace="other", operator="pytorch")
LONG_FAILED = subject("long-failed", phase=Phase.FAILED, finished_at=NOW - 2 * DAY, phase_at=NOW - 2 * DAY)
DONE = subject("done", phase=Phase.SUCCEEDED, finished_at=NOW - 60)

IN_ORDER = (HUNG, STUCK, MISSING, RESTARTING, LATE, FAILED, QUEUED, FINE, DONE, LONG_FAILED)


def shown(*subjects: Subject, filters: Mapping[str, str] | None = None, begin: int = 0, limit: int = 100) -> Fleet:
    return asyncio.run(fleet(subjects, NOW, Filters.of(filters or {}), begin=begin, limit=limit))


def names(found: Fleet) -> Sequence[str]:
    return [row.plan.name for row in found.rows]


def test_what_hurts_most_comes_first() -> None:
    assert names(shown(*reversed(IN_ORDER))) == [each.plan.name for each in IN_ORDER]


def test_a_run_that_an_incident_explains_follows_those_with_a_reason_of_their_own() -> None:
    explained = {Run("team", each.plan.name) for each in (HUNG, STUCK, MISSING)}
    found = asyncio.run(fleet(IN_ORDER, NOW, Filters(), begin=0, limit=100, explained=explained))
    assert names(found) == [
        each.plan.name for each in (HUNG, RESTARTING, LATE, FAILED, QUEUED, STUCK, MISSING, FINE, DONE, LONG_FAILED)
    ], "a hang is a reason of its own"


def test_a_deadline_is_near_in_the_last_tenth_of_a_short_clock() -> None:
    short = plan(clocks={ClockName.TOTAL: Clock(100, ClockAction.FAIL)})
    running = record(phase=Phase.RUNNING, started_at=NOW)
    for passed, expected in ((89, ()), (91, (Hurt.DEADLINE,)), (200, (Hurt.DEADLINE,))):
        assert hurts(short, running, FINE.view, NOW + passed) == expected


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"operator": "pytorch", "namespace": "team"}, []),
        ({"kind": "JobSet"}, []),
        ({"q": "LATE"}, ["late"]),
        ({"unknown": "x", "phase": "Succeeded"}, ["done"]),
    ],
    ids=str,
)
def test_filters_pass_what_has_all_their_values(filters: dict[str, str], expected: list[str]) -> None:
    assert names(shown(*IN_ORDER, filters=filters)) == expected


def test_counts_are_of_what_passes_all_other_filters() -> None:
    """Each count is the number of rows that a click on its value shows."""
    for filters in (
        {},
        {"namespace": "team"},
        {"problem": "stuck", "namespace": "team"},
        {"phase": "Failed", "q": "long"},
    ):
        counts = shown(*IN_ORDER, filters=filters).counts
        for name, values in counts.items():
            for value, count in values.items():
                assert len(shown(*IN_ORDER, filters=filters | {name: value}).rows) == count, (filters, name, value)


def test_a_value_that_is_asked_for_is_offered_although_nothing_has_it() -> None:
    assert shown(FINE, filters={"namespace": "gone"}).counts["namespace"] == {"other": 1, "gone": 0}


def test_a_page_begins_where_it_is_asked_to() -> None:
    found = shown(*IN_ORDER, begin=3, limit=2)
    assert names(found) == ["restarting", "late"]
    assert (found.begin, found.matching, found.total) == (3, 10, 10)
    assert names(shown(*IN_ORDER, begin=99)) == []


async def test_the_loop_turns_while_a_large_fleet_is_walked() -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    await fleet([FINE] * (10 * SLICE), NOW, Filters(), begin=0, limit=10)
    task.cancel()
    assert turns >= 10
