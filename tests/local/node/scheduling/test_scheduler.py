"""The scheduler: order, bindings, and the PodScheduled condition."""

import pytest

from muster.api.errors import Conflict, Unreachable
from tests.local.node.harness import FakeApi, Scheduling


@pytest.fixture
def node(fake_api: FakeApi) -> Scheduling:
    return Scheduling(fake_api, cpu="2", memory="4Gi", pods="3")


async def test_the_oldest_pods_are_bound_first_and_one_that_does_not_fit_blocks_no_other(node: Scheduling) -> None:
    for name, seconds, cpu in (("young", 9, "1"), ("big", 1, "64"), ("old", 0, "1")):
        node.add(name, seconds, cpu=cpu)
    assert await node.bound() == ["old", "young"]
    (patch,) = node.api.patches()
    assert patch["status"]["conditions"][0]["reason"] == "Unschedulable"


async def test_a_bound_pod_counts_before_the_watch_reports_it(node: Scheduling) -> None:
    for number in range(4):
        node.add(f"p{number}", number, cpu="1")
    assert await node.bound() == ["p0", "p1"]
    assert await node.bound() == []


async def test_resources_of_a_finished_pod_are_free(node: Scheduling) -> None:
    running = node.add("first", cpu="2")
    running["spec"]["nodeName"] = "local"
    node.add("next", cpu="2")
    assert await node.bound() == []
    running["status"] = {"phase": "Succeeded"}
    assert await node.bound() == ["next"]


async def test_an_unchanged_condition_is_not_written_again(node: Scheduling) -> None:
    path = "/api/v1/namespaces/default/pods/p"
    node.api.objects[path] = node.add("p", cpu="64")
    await node.bound()
    assert len(node.api.patches()) == 1
    node.pods["p"] = node.api.objects[path]
    await node.bound()
    assert node.api.patches() == []


async def test_pods_with_gates_another_scheduler_or_a_deletion_are_not_bound(node: Scheduling) -> None:
    gated, foreign, dying = (node.add(name) for name in ("gated", "foreign", "dying"))
    gated["spec"]["schedulingGates"] = [{"name": "wait"}]
    foreign["spec"]["schedulerName"] = "kueue"
    dying["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert await node.bound() == []
    assert [patch["status"]["conditions"][0]["reason"] for patch in node.api.patches()] == ["SchedulingGated"]


async def test_a_pod_with_invalid_requests_blocks_no_other(node: Scheduling) -> None:
    node.add("bad", 0, cpu="three")
    node.add("good", 1, cpu="1")
    assert await node.bound() == ["good"]
    assert "'three'" in node.api.patches()[0]["status"]["conditions"][0]["message"]


async def test_a_conflict_is_not_retried_and_an_unreachable_server_is(node: Scheduling) -> None:
    node.add("p", cpu="1")
    node.api.refuse = [Conflict("already bound", status=409)]
    assert await node.scheduler.schedule()
    node.api.refuse = [Unreachable("gone")]
    assert not await node.scheduler.schedule()
