"""Labelled pods whose controllers number them by group, and pods that share an index."""

import asyncio

import pytest

from tests.daemon.watched.world import PODS, World, virtually

LWS, VOLCANO = "leaderworkerset.sigs.k8s.io/", "volcano.sh/"


def labelled(**labels: str) -> dict[str, str]:
    return {"muster.dev/observe": "run", **labels}


def of_lws(world: World, group: int, worker: int) -> str:
    """Return a pod as LeaderWorkerSet makes it: leaders are of one StatefulSet, workers of one for each group."""
    name = f"llm-{group}" if worker == 0 else f"llm-{group}-{worker}"
    labels = {f"{LWS}name": "llm", f"{LWS}group-index": str(group), f"{LWS}worker-index": str(worker)}
    labels["apps.kubernetes.io/pod-index"] = str(worker or group)
    world.pod(name, labels=labelled(**labels), ip=f"10.0.{group}.{worker + 1}")
    return name


def of_volcano(world: World, task: str, index: int) -> str:
    name = f"bert-{task}-{index}"
    labels = {f"{VOLCANO}job-name": "bert", f"{VOLCANO}task-spec": task, f"{VOLCANO}task-index": str(index)}
    world.pod(name, labels=labelled(**labels), ip=f"10.1.{len(task)}.{index + 1}")
    return name


def message(world: World) -> str:
    return world.found("pods/run").record.message


def stuck(world: World) -> bool:
    return bool(world.stuck("pods/run").status)


@virtually
async def test_the_pods_of_two_groups_of_a_leaderworkerset_have_a_place_each(world: World) -> None:
    await world.daemon("pods")
    for group in (1, 0):
        for worker in range(3):
            of_lws(world, group, worker)
    await asyncio.sleep(90)
    assert (message(world), stuck(world)) == ("6/6 members are ready", False)
    world.end("llm-1-2", 137)
    await asyncio.sleep(3)
    assert "rank 5 (group-1-2, llm-1-2) ended with exit code 137" in message(world)


@virtually
async def test_groups_are_ordered_by_their_number_and_not_by_its_letters(world: World) -> None:
    await world.daemon("pods")
    for group in (10, 2):
        of_lws(world, group, 0)
    await asyncio.sleep(3)
    assert [each.name for each in world.found("pods/run").plan.groups] == ["group-2", "group-10"]


@virtually
async def test_the_pods_of_the_tasks_of_a_volcano_job_have_a_place_each(world: World) -> None:
    await world.daemon("pods")
    for task, index in (("worker", 1), ("worker", 0), ("master", 0)):
        of_volcano(world, task, index)
    await asyncio.sleep(90)
    assert (message(world), stuck(world)) == ("3/3 members are ready", False)
    world.end("bert-worker-0", 1)
    await asyncio.sleep(3)
    assert "rank 1 (worker-0, bert-worker-0) ended with exit code 1" in message(world)


@virtually
async def test_pods_at_work_that_share_an_index_take_a_place_each_and_that_is_said(world: World) -> None:
    await world.daemon("pods")
    for name in ("master-0", "worker-0", "worker-1"):
        world.pod(name, labels=labelled(), ip=f"10.0.0.{len(name)}{name[-1]}")
    await asyncio.sleep(90)
    assert message(world).startswith("3/3 members are ready; two pods have one index")
    assert not stuck(world)
    world.end("worker-0", 3)
    await asyncio.sleep(3)
    assert "(worker-0) ended with exit code 3" in message(world)


@pytest.mark.parametrize("leaves", ["failed", "terminating"])
@virtually
async def test_a_pod_that_replaces_another_one_of_its_index_takes_its_place(world: World, leaves: str) -> None:
    await world.daemon("pods")
    for rank in range(2):
        world.pod(f"run-{rank}", labels=labelled(**{"muster.dev/rank": str(rank)}), ip=f"10.0.0.{rank + 1}")
    await asyncio.sleep(3)
    if leaves == "failed":
        world.end("run-1", 1)
    else:
        world.api.objects[f"{PODS}/run-1"]["metadata"]["deletionTimestamp"] = world.api.now()
        world.pod("run-1")
    await asyncio.sleep(3)
    world.pod("again", labels=labelled(**{"muster.dev/rank": "1"}), ip="10.0.0.9")
    await asyncio.sleep(90)
    found = world.found("pods/run")
    assert (found.plan.size, found.view.of(0).members[1].name) == (2, "again")
    assert (message(world), stuck(world)) == ("2/2 members are ready", False)
