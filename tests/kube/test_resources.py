"""The verbs on objects as dictionaries."""

import asyncio

from muster.kube.resources import ResourceClient, core
from tests.fakes.api import FakeApi

PODS = core("team", "pods")
POD = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "run-0"}, "spec": {}}


async def test_each_verb_is_the_request_of_the_kubernetes_api() -> None:
    api = FakeApi()
    client = ResourceClient(api)
    made = await client.create(PODS, POD)
    assert (await client.get(core("team", "pods", "run-0")))["metadata"]["uid"] == made["metadata"]["uid"]
    assert [pod.uid for pod in await client.list(PODS)] == [made["metadata"]["uid"]]
    options = {"preconditions": {"uid": made["metadata"]["uid"]}}
    gone = await client.delete(core("team", "pods", "run-0"), options)
    assert "deletionTimestamp" in gone["metadata"]
    assert [(request.method, request.body) for request in api.requests][-1] == ("DELETE", options)


async def test_no_more_requests_are_under_way_than_allowed() -> None:
    api = FakeApi()
    client = ResourceClient(api, concurrency=3)
    api.gate.clear()
    asked = [asyncio.create_task(client.list(PODS), name=f"list {number}") for number in range(10)]
    await api.crowd(3)
    for _ in range(20):
        await asyncio.sleep(0)
    assert len(api.asked("")) == 3
    api.gate.set()
    assert await asyncio.gather(*asked) == [[]] * 10
