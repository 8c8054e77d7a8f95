"""The scheduler: order, bindings, and the PodScheduled condition."""

from typing import Any

import pytest

from muster.api.errors import Conflict, Unreachable
from muster.kube.resources import ResourceClient
from muster.local.node.scheduling.fit import amounts
from muster.local.node.scheduling.scheduler import Scheduler
from tests.local.node.harness import FakeApi, Pod, container, pod

CAPACITY = amounts({"cpu": "2", "memory": "4Gi", "pods": "3"})


def asks(name: str = "p", seconds: int = 0, **resources: str) -> Pod:
    made = pod(name, container(resources={"requests": resources}))
    made["metadata"] |= {
        "uid": f"u-{name}",
        "creationTimestamp": f"2026-01-01T00:00:{seconds:02}Z",
        "resourceVersion": "1",
    }
    return made


@pytest.fixture
def pods() -> dict[str, Pod]:
    return {}


@pytest.fixture
def scheduler(fake_api: FakeApi, pods: dict[str, Any]) -> Scheduler:
    return Scheduler(ResourceClient(fake_api), pods, node="local", node_labels={}, capacity=CAPACITY, clock=lambda: 0)


def bound(fake_api: FakeApi) -> list[str]:
    return [path.split("/")[-2] for verb, path, _ in fake_api.asked if verb == "POST" and path.endswith("/binding")]


async def test_the_oldest_pods_are_bound_first_and_one_that_does_not_fit_blocks_no_other(
    pods: dict[str, Any], scheduler: Scheduler, fake_api: FakeApi
) -> None:
    for name, seconds, cpu in (("young", 9, "1"), ("big", 1, "64"), ("old", 0, "1")):
        pods[f"u-{name}"] = asks(name, seconds, cpu=cpu)
    assert await scheduler.schedule()
    assert bound(fake_api) == ["old", "young"]
    (patch,) = fake_api.patches()
    assert patch["status"]["conditions"][0]["reason"] == "Unschedulable"


async def test_a_bound_pod_counts_before_the_watch_reports_it(
    pods: dict[str, Any], scheduler: Scheduler, fake_api: FakeApi
) -> None:
    for number in range(4):
        pods[f"u-p{number}"] = asks(f"p{number}", number, cpu="1")
    await scheduler.schedule()
    await scheduler.schedule()
    assert bound(fake_api) == ["p0", "p1"]


async def test_resources_of_a_finished_pod_are_free(
    pods: dict[str, Any], scheduler: Scheduler, fake_api: FakeApi
) -> None:
    running = asks("first", cpu="2")
    running["spec"]["nodeName"] = "local"
    pods["u-first"] = running
    pods["u-next"] = asks("next", cpu="2")
    await scheduler.schedule()
    assert bound(fake_api) == []
    running["status"] = {"phase": "Succeeded"}
    await scheduler.schedule()
    assert bound(fake_api) == ["next"]


async def test_an_unchanged_condition_is_not_written_again(
    pods: dict[str, Any], scheduler: Scheduler, fake_api: FakeApi
) -> None:
    waiting = pods["u-p"] = asks(cpu="64")
    path = "/api/v1/namespaces/default/pods/p"
    fake_api.objects[path] = waiting
    await scheduler.schedule()
    pods["u-p"] = fake_api.objects[path]
    await scheduler.schedule()
    assert len(fake_api.patches()) == 1


async def test_pods_with_gates_another_scheduler_or_a_deletion_are_not_bound(
    pods: dict[str, Any], scheduler: Scheduler, fake_api: FakeApi
) -> None:
    gated, foreign, dying = (asks(name) for name in ("gated", "foreign", "dying"))
    gated["spec"]["schedulingGates"] = [{"name": "wait"}]
    foreign["spec"]["schedulerName"] = "kueue"
    dying["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    pods |= {each["metadata"]["uid"]: each for each in (gated, foreign, dying)}
    await scheduler.schedule()
    assert bound(fake_api) == []
    assert [patch["status"]["conditions"][0]["reason"] for patch in fake_api.patches()] == ["SchedulingGated"]


async def test_a_pod_with_invalid_requests_blocks_no_other(
    pods: dict[str, Any], scheduler: Scheduler, fake_api: FakeApi
) -> None:
    pods["u-bad"] = asks("bad", 0, cpu="three")
    pods["u-good"] = asks("good", 1, cpu="1")
    await scheduler.schedule()
    assert bound(fake_api) == ["good"]
    assert "'three'" in fake_api.patches()[0]["status"]["conditions"][0]["message"]


async def test_a_conflict_is_not_retried_and_an_unreachable_server_is(
    pods: dict[str, Any], scheduler: Scheduler, fake_api: FakeApi
) -> None:
    pods["u-p"] = asks(cpu="1")
    fake_api.refuse = [Conflict("already bound", status=409)]
    assert await scheduler.schedule()
    fake_api.refuse = [Unreachable("gone")]
    assert not await scheduler.schedule()
