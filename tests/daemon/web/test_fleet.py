"""The experiments that a page or a listing of the fleet shows, their order, their filters and their counts."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import ClientSession

from muster.daemon.web.fleet import MOST, SLICE, Filters, Fleet, fleet
from muster.metrics.collector import Subject
from muster.rollcall.make import hurts
from muster.state.facts.incidents.signs import Run
from muster.state.summary.hurt import NEAR, Hurt
from muster.state.view.roll import RankState
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.record import Condition, ConditionType, Phase
from muster.state.vocabulary.rules import ClockAction, ClockName
from tests.builders import NOW, Clock, answer, plan, pod, record, view
from tests.daemon.web.subjects import Daemon

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


def listed(name: str, namespace: str = "team", operator: str = "jax", **facts: Any) -> Subject:
    return Subject(plan(uid=name, name=name, namespace=namespace, operator=operator), record(**facts), view())


THAT_HANGS = listed("hung", phase=Phase.RUNNING, conditions=(Condition(ConditionType.STUCK, True, "Hung", "", 1, NOW),))
THAT_FAILED = listed(
    "failed", "vision", "pytorch", phase=Phase.FAILED, finished_at=NOW, message="Rank 3 ended with exit code 1"
)
THAT_RUNS = listed("fine", phase=Phase.RUNNING)
THEIRS = listed("theirs", "vision", "none", phase=Phase.RUNNING)
THEIRS = replace(THEIRS, plan=replace(THEIRS.plan, engine=Engine.WATCH))


@pytest.fixture
def daemon() -> Daemon:
    return Daemon([THAT_HANGS, THAT_FAILED, THAT_RUNS, THEIRS])


async def asked(client: ClientSession, params: Mapping[str, str] | Sequence[tuple[str, str]]) -> Any:
    async with client.get("/experiments.json", params=params) as response:
        return await response.json() if response.status == 200 else (response.status, await response.text())


@pytest.mark.parametrize(
    ("params", "names"),
    [
        ({}, ["fine", "hung", "failed", "theirs"]),
        ({"problem": "hung"}, ["hung"]),
        ({"problem": "stuck"}, ["hung"]),
        ({"problem": "failed"}, ["failed"]),
        ({"namespace": "vision"}, ["failed", "theirs"]),
        ({"phase": "Running"}, ["fine", "hung", "theirs"]),
        ({"operator": "pytorch"}, ["failed"]),
        ({"engine": "observe"}, ["theirs"]),
        ({"kind": "Experiment"}, ["fine", "hung", "failed", "theirs"]),
        ({"kind": "JobSet"}, []),
        ({"q": "rank 3 ENDED"}, ["failed"]),
        ({"q": "thei", "namespace": "vision"}, ["theirs"]),
        ({"problem": "hung", "namespace": "vision"}, []),
        ({"namespace": "<script>alert(1)</script>\x00\x1b[31m"}, []),
        ({"namespace": "../../etc"}, []),
        ({"q": "x" * 3000}, []),
        ({"after": "team/fine\x00\u202e"}, ["hung", "failed", "theirs"]),
    ],
)
async def test_the_filters_of_the_page_hold(client: ClientSession, params: dict[str, str], names: list[str]) -> None:
    found = await asked(client, params)
    assert [one["name"] for one in found["experiments"]] == names
    assert (found["total"], found["phases"]["Running"]) == (4, 3)
    assert found["matching"] == len(names) + ("after" in params)


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"problem": "hunger"}, "problem is one of hung, stuck, missing, restarting, deadline, failed, queued."),
        ({"engine": "ours"}, "engine is one of native, observe."),
        ({"phase": "running"}, "phase is one of "),
        ({"name": "hung"}, "name is no parameter of a listing; those are problem, namespace, "),
        ({"\x1b[31m<b>": "1"}, "\N{REPLACEMENT CHARACTER}[31m<b> is no parameter"),
        ([("phase", "Running"), ("phase", "Failed")], "phase is stated more than once."),
        ([("q", "x")] * 400, "q is stated more than once."),
        ({"after": "x" * 2000}, "after is the value of that field in the listing before."),
        *(({"limit": limit}, f"limit is a number from 1 to {MOST}.") for limit in ("0", "1001", "-1", "x", "", "٣")),
        ({"limit": "9" * 3000}, f"limit is a number from 1 to {MOST}."),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_a_query_that_cannot_be_meant_is_explained(
    client: ClientSession, params: Mapping[str, str], why: str
) -> None:
    status, text = await asked(client, params)
    assert status == 400
    assert text.startswith(why)


async def test_a_listing_is_paged(daemon: Daemon, client: ClientSession) -> None:
    daemon.here = [listed(f"run-{n:04d}", ("a", "b")[n % 2]) for n in reversed(range(2500))]
    names: list[str] = []
    pages, after = 0, ""
    while after or not pages:
        page = await asked(client, {"limit": "1000", "after": after, "namespace": "b"})
        assert (page["total"], page["matching"], page["phases"]["Pending"]) == (2500, 1250, 2500)
        names += [one["name"] for one in page["experiments"]]
        pages, after = pages + 1, page["after"]
    assert names == [f"run-{n:04d}" for n in range(1, 2500, 2)]
    assert pages == 2
