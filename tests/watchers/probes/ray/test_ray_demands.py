"""Unmet requests of a Ray job's tasks are reported from Ray's own report, and from nothing else."""

import json
from typing import Any

import pytest

from muster.watchers.probes.bounded.connection import MOST_PARTS
from muster.watchers.probes.bounded.http import Reply
from muster.watchers.probes.ray.demands import PACE, STATUS, Demands
from tests.watchers.probes.ray.test_ray_tasks import Dashboard

HEAD = {
    "object_store_memory": 6405976473.0,
    "node:192.0.2.2": 1.0,
    "node:__internal_head__": 1.0,
    "CPU": 1.0,
    "memory": 14947278439.0,
}
"""A node as Ray 2.60 reports it."""
GPUS = [{"GPU": 2.0, "CPU": 1.0}, 3]


def body(*demands: Any, nodes: Any = ((HEAD, 1),), time: float = 1795421128.7, **autoscaler: Any) -> bytes:
    """Return an answer of Ray 2.60 without the parts that are not read."""
    report = {"usage": {"CPU": [1.0, 1.0]}, "resourceDemand": demands, "pgDemand": [], "nodeTypes": nodes}
    pending = {"pendingNodes": [], "pendingLaunches": {}, "failedNodes": [], "legacy": True} | autoscaler
    status = {"gcsRequestTime": 0.05, "time": time, "autoscalerReport": pending, "loadMetricsReport": report}
    data = {"autoscalingStatus": "Cluster status: 0 nodes", "autoscalingError": None, "clusterStatus": status}
    return json.dumps({"result": True, "msg": "Got cluster status.", "data": data}).encode()


async def said(*replies: Reply) -> list[str]:
    dashboard = Dashboard(*replies, path=STATUS)
    demands, found = Demands(dashboard, 8265, lambda: dashboard.now), []
    for _ in replies:
        await demands.look()
        found.append(demands.sentence)
        dashboard.now += PACE
    return found


async def once(answer: bytes) -> str:
    (found,) = await said(Reply(200, answer))
    return found


async def test_what_no_node_has_is_named_and_what_is_only_in_use_is_not() -> None:
    assert await once(body([{"CPU": 1.0}, 2], GPUS)) == (
        "no Ray node has what 3 waiting tasks or actors ask for: CPU 1 and GPU 2"
    )
    assert await once(body([{"CPU": 1.0}, 2])) == ""


async def test_one_node_must_have_all_of_a_request() -> None:
    nodes = [({"GPU": 8.0}, 1), ({"CPU": 64.0}, 2)]
    assert "CPU 1 and GPU 2" in await once(body(GPUS, nodes=nodes))
    assert await once(body(GPUS, nodes=[*nodes, ({"GPU": 2.0, "CPU": 0.99999}, 1)])) == ""


async def test_memory_is_in_gb_and_many_kinds_are_counted() -> None:
    found = await once(body([{"memory": 64e9}, 1]))
    assert found == "no Ray node has what a waiting task or actor asks for: memory 64 GB"
    many = [[{f"slot{number}": 1.0}, 500] for number in range(5)]
    assert (await once(body(*many))).endswith(
        "2,500 waiting tasks or actors ask for: slot0 1, or slot1 1, or slot2 1, and 2 more kinds"
    )


async def test_a_name_does_not_end_the_part_of_a_sentence_that_it_is_in() -> None:
    found = await once(body([{"a 1; rank 0 (b): c, d": 1.0}, 1]))
    assert found.startswith("no Ray node has what a waiting task or actor asks for: a 1")
    assert found.count(":") == 1
    assert not set(";,()") & set(found)


@pytest.mark.parametrize(
    "answer",
    [
        body([{"CPU_group_0_4f1": 1.0, "bundle_group_4f1": 0.001}, 1]),
        body(GPUS, pendingNodes=[["10.0.0.7", "gpu", "waiting"]]),
        body(GPUS, pendingLaunches={"gpu": 1}),
        body(GPUS, nodes=()),
        body([{}, 1]),
        b'{"data": {"clusterStatus": null}}',
        b'{"data": {"clusterStatus": {"loadMetricsReport": {"resourceDemand": 7}}}}',
        b"[" * 5000,
        b"\xff",
    ],
    ids=["group", "node-comes", "launch", "no-node", "nothing", "no-monitor", "other-shape", "deep", "no-text"],
)
async def test_nothing_is_reported_where_it_is_not_known(answer: bytes) -> None:
    assert await once(answer) == ""


async def test_a_monitor_that_writes_no_more_is_not_believed() -> None:
    good, later = Reply(200, body(GPUS)), Reply(200, body(GPUS, time=1795421138.7))
    assert [bool(each) for each in await said(good, good, good, good, later)] == [True, True, True, False, True]


async def test_an_answer_that_does_not_come_refutes_nothing_before_the_report_is_old() -> None:
    good, late = Reply(200, body(GPUS)), Reply(0, detail="no answer")
    assert [bool(each) for each in await said(good, late, late, late, good)] == [True, True, True, False, False]
    newer = Reply(200, body(GPUS, time=1795421138.7))
    assert [bool(each) for each in await said(late, good, late, newer, Reply(200, body()))] == [
        *(False, True, True, True, False)
    ]


async def test_it_is_asked_once_in_ten_seconds() -> None:
    dashboard = Dashboard(Reply(200, body(GPUS)), path=STATUS)
    demands = Demands(dashboard, 8265, lambda: dashboard.now)
    for _ in range(20):
        await demands.look()
        dashboard.now += 3.0
    assert len(dashboard.asked) == 5


async def test_a_job_that_runs_no_more_waits_for_nothing() -> None:
    dashboard = Dashboard(Reply(200, body(GPUS)), path=STATUS)
    demands = Demands(dashboard, 8265, lambda: dashboard.now)
    await demands.look()
    demands.forget()
    assert demands.sentence == ""


async def test_a_name_of_a_resource_is_printable_and_short() -> None:
    found = await once(body([{"\x1b[31m" + "x" * 500: 1.0}, 1]))
    assert "\x1b" not in found
    assert len(found) < 200


@pytest.mark.parametrize(
    ("demands", "nodes"),
    [
        ([({f"r{k}": 1.0}, 1) for k in range(1000)], [({f"n{k}": 1.0}, 1) for k in range(1000)]),
        ([({f"r{k}": 1.0 for k in range(10_000)}, 1)], [({f"n{k}": 1.0}, 1) for k in range(100)]),
    ],
    ids=["requests", "resources of one request"],
)
async def test_a_report_that_would_take_long_to_compare_says_nothing(demands: Any, nodes: Any) -> None:
    assert await once(body(*demands, nodes=nodes)) == ""


async def test_a_request_for_very_many_resources_is_not_named_in_full() -> None:
    sentence = await once(body(({f"r{k:03}": 1.0 for k in range(500)}, 1)))
    assert sentence.endswith("r007 1 and 492 more resources")


async def test_a_report_of_very_many_parts_is_not_decoded() -> None:
    assert (await once(body(({"GPU": 1.0}, 1)))).startswith("no Ray node has")
    assert await once(body(({"GPU": 1.0}, 1), pendingLaunches={}, failedNodes=[[]] * MOST_PARTS)) == ""
