"""The listing of ``/experiments.json``: its filters and its pages, asked over a real socket."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import ClientSession

from muster.daemon.web.fleet import MOST
from muster.metrics.collector import Subject
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.record import Condition, ConditionType, Phase
from tests.builders import NOW, plan, record, view
from tests.daemon.web.subjects import Daemon


def run(name: str, namespace: str = "team", operator: str = "jax", **facts: Any) -> Subject:
    return Subject(plan(uid=name, name=name, namespace=namespace, operator=operator), record(**facts), view())


HUNG = run("hung", phase=Phase.RUNNING, conditions=(Condition(ConditionType.STUCK, True, "Hung", "", 1, NOW),))
FAILED = run(
    "failed", "vision", "pytorch", phase=Phase.FAILED, finished_at=NOW, message="Rank 3 ended with exit code 1"
)
FINE = run("fine", phase=Phase.RUNNING)
THEIRS = run("theirs", "vision", "none", phase=Phase.RUNNING)
THEIRS = replace(THEIRS, plan=replace(THEIRS.plan, engine=Engine.WATCH))


@pytest.fixture
def daemon() -> Daemon:
    return Daemon([HUNG, FAILED, FINE, THEIRS])


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
    daemon.here = [run(f"run-{n:04d}", ("a", "b")[n % 2]) for n in reversed(range(2500))]
    names: list[str] = []
    pages, after = 0, ""
    while after or not pages:
        page = await asked(client, {"limit": "1000", "after": after, "namespace": "b"})
        assert (page["total"], page["matching"], page["phases"]["Pending"]) == (2500, 1250, 2500)
        names += [one["name"] for one in page["experiments"]]
        pages, after = pages + 1, page["after"]
    assert names == [f"run-{n:04d}" for n in range(1, 2500, 2)]
    assert pages == 2
