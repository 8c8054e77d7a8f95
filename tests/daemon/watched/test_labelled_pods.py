"""Labelled pods on a whole daemon: a run without an object is watched, and nothing is written to it."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import pytest

from muster.state.policies.watched.following import REPLACED_WITHIN
from muster.state.policies.watched.obstacles import PATIENCE
from muster.state.vocabulary.record import Phase
from tests.daemon.watched.world import PODS, World, virtually

JAX = {"muster.dev/operator": "jax", "muster.dev/size": "3"}


def labelled(name: str = "run") -> dict[str, str]:
    return {"muster.dev/observe": name}


def member(
    world: World, rank: int, *, name: str = "run", annotations: dict[str, str] | None = None, **more: Any
) -> None:
    """Make a running pod of the set."""
    more.setdefault("ip", f"10.0.0.{rank + 1}")
    world.pod(f"{name}-{rank}", labels=labelled(name), annotations=annotations or {}, **more)


@virtually
async def test_the_rank_whose_program_does_not_come_is_named(world: World) -> None:
    world.cluster.roll = world.cluster.arrived(0, 1, size=3)
    await world.daemon("pods")
    for rank in range(3):
        member(world, rank, annotations=JAX)
    await asyncio.sleep(12)
    run = world.found("pods/run")
    assert (run.record.phase, run.plan.size, run.record.ready) == (Phase.ASSEMBLING, 3, 2)
    stuck = world.stuck("pods/run")
    assert (stuck.status, stuck.reason) == (True, "RanksMissing")
    assert "missing rank 2 (run-2, running, but it has not called the coordinator)" in stuck.message
    assert any(line.startswith("Stuck: RanksMissing: 2/3 ranks arrived") for line in world.lines())
    about = {(each["involvedObject"]["kind"], each["involvedObject"]["name"]) for each in world.cluster.events()}
    assert about == {("Pod", "run-0")}


@virtually
async def test_a_set_that_gathers_and_ends_is_followed_to_its_end(world: World) -> None:
    world.cluster.roll = world.cluster.arrived(0, 1, 2, size=3)
    await world.daemon("pods")
    for rank in range(3):
        member(world, rank, annotations=JAX)
    await asyncio.sleep(5)
    assert world.found("pods/run").record.phase is Phase.RUNNING
    for rank in range(3):
        world.end(f"run-{rank}")
    await asyncio.sleep(2)
    over = world.found("pods/run").record
    assert (over.phase, over.message) == (Phase.SUCCEEDED, "all 3 members succeeded")
    for rank in range(3):
        world.api.remove(f"{PODS}/run-{rank}")
    await asyncio.sleep(2)
    assert world.titles() == []


@virtually
async def test_a_member_without_a_pod_is_named_and_called_stuck_in_time(world: World) -> None:
    """If no probe can ask, readiness of the pods is the roll."""
    await world.daemon("pods")
    member(world, 0, annotations={"muster.dev/size": "3"})
    member(world, 2)
    await asyncio.sleep(2)
    record = world.found("pods/run").record
    assert "2/3 pods exist; rank 1 has no pod" in record.message
    assert not world.stuck("pods/run").status
    await asyncio.sleep(PATIENCE + 2)
    stuck = world.stuck("pods/run")
    assert (stuck.status, stuck.reason) == (True, "PodsMissing")
    member(world, 1)
    await asyncio.sleep(2)
    record = world.found("pods/run").record
    assert (record.phase, record.ready) == (Phase.RUNNING, 3)


@virtually
async def test_a_failed_member_is_reported_and_ends_nothing_until_it_is_not_replaced(world: World) -> None:
    await world.daemon("pods")
    for rank in range(2):
        member(world, rank, annotations={"muster.dev/size": "2"})
    await asyncio.sleep(3)
    world.end("run-1", 7)
    await asyncio.sleep(2)
    record = world.found("pods/run").record
    assert record.phase is Phase.RUNNING
    assert record.cause is not None
    assert (record.cause.rank, record.cause.exit_code) == (1, 7)
    assert "MemberFailed: rank 1 (run-1) ended with exit code 7 in container train on node n1" in world.lines()
    world.end("run-0", 0)
    await asyncio.sleep(REPLACED_WITHIN + 2)
    record = world.found("pods/run").record
    assert (record.phase, record.reason) == (Phase.FAILED, "MembersFailed")
    assert "rank 1 (run-1) ended with exit code 7" in record.message


@virtually
async def test_a_daemon_that_starts_rebuilds_the_record_and_says_nothing_twice(world: World) -> None:
    world.cluster.roll = world.cluster.arrived(0, 1, size=3)
    await world.daemon("pods")
    for rank in range(3):
        member(world, rank, annotations=JAX)
    await asyncio.sleep(100)
    seen, before = world.lines(), facts(world)
    await world.stop()
    await asyncio.sleep(30)
    await world.daemon("pods")
    await asyncio.sleep(12)
    assert (world.lines(), facts(world)) == (seen, before)


def facts(world: World) -> tuple[Any, ...]:
    now = world.found("pods/run").record
    return now.phase, now.started_at, now.ready, now.reason


@virtually
async def test_only_labelled_pods_of_the_namespace_are_members(world: World) -> None:
    """Sets of two namespaces, or of two names, are two runs; a pod that Muster made is of none."""
    await world.daemon("pods")
    member(world, 0)
    member(world, 0, name="other")
    member(world, 1, namespace="elsewhere")
    world.pod("plain-0")
    world.pod("ours-0", labels={**labelled(), "muster.dev/experiment-uid": "u"})
    await asyncio.sleep(3)
    assert world.titles() == ["pods/other", "pods/run", "pods/run"]
    assert world.found("pods/run").plan.size == 1
    assert world.found("pods/run", "elsewhere").plan.size == 2


@virtually
async def test_nothing_is_watched_over_unless_it_is_switched_on(world: World) -> None:
    await world.daemon("")
    member(world, 0)
    await asyncio.sleep(3)
    assert world.titles() == []
    assert not [each for each in world.api.requests if each.params.get("labelSelector") == "muster.dev/observe"]


@virtually
async def test_a_labelled_pod_with_the_label_of_a_kind_that_has_no_place_for_it_is_watched_over(world: World) -> None:
    """Kubeflow's training operator labels the pods of all of its kinds as those of a JAXJob."""
    await world.daemon()
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "bert", "uid": "u", "controller": True}
    for rank in range(2):
        labels = {**labelled("bert"), "training.kubeflow.org/job-name": "bert"}
        world.pod(f"bert-{rank}", labels=labels, ownerReferences=[owner], ip=f"10.0.0.{rank + 1}")
    await asyncio.sleep(5)
    assert world.titles() == ["pods/bert"]
    assert world.found("pods/bert").record.ready == 2


LWS, VOLCANO = "leaderworkerset.sigs.k8s.io/", "volcano.sh/"


TASKS = (("worker", 1), ("worker", 0), ("master", 0))


def of_run(**labels: str) -> dict[str, str]:
    return {"muster.dev/observe": "run", **labels}


def of_lws(world: World, group: int, worker: int) -> None:
    """Make a pod as LeaderWorkerSet makes it: leaders are of one StatefulSet, workers of one for each group."""
    name = f"llm-{group}" if worker == 0 else f"llm-{group}-{worker}"
    labels = {f"{LWS}name": "llm", f"{LWS}group-index": str(group), f"{LWS}worker-index": str(worker)}
    labels["apps.kubernetes.io/pod-index"] = str(worker or group)
    world.pod(name, labels=of_run(**labels), ip=f"10.0.{group}.{worker + 1}")


def of_volcano(world: World, task: str, index: int) -> None:
    labels = {f"{VOLCANO}job-name": "bert", f"{VOLCANO}task-spec": task, f"{VOLCANO}task-index": str(index)}
    world.pod(f"bert-{task}-{index}", labels=of_run(**labels), ip=f"10.1.{len(task)}.{index + 1}")


def message(world: World) -> str:
    return world.found("pods/run").record.message


def stuck(world: World) -> bool:
    return bool(world.stuck("pods/run").status)


@pytest.mark.parametrize(
    ("make", "places", "ends", "named"),
    [
        (of_lws, [*product((1, 0), range(3))], "llm-1-2", "rank 5 (group-1-2, llm-1-2)"),
        (of_volcano, [*TASKS], "bert-worker-0", "rank 1 (worker-0, bert-worker-0)"),
    ],
    ids=["two groups of a LeaderWorkerSet", "the tasks of a Volcano job"],
)
@virtually
async def test_pods_that_are_numbered_by_group_have_a_place_each(
    world: World, make: Callable[..., None], places: Sequence[tuple[Any, int]], ends: str, named: str
) -> None:
    await world.daemon("pods")
    for place in places:
        make(world, *place)
    await asyncio.sleep(90)
    assert (message(world), stuck(world)) == (f"{len(places)}/{len(places)} members are ready", False)
    world.end(ends, 137)
    await asyncio.sleep(3)
    assert f"{named} ended with exit code 137" in message(world)


@virtually
async def test_groups_are_ordered_by_their_number_and_not_by_its_letters(world: World) -> None:
    await world.daemon("pods")
    for group in (10, 2):
        of_lws(world, group, 0)
    await asyncio.sleep(3)
    assert [each.name for each in world.found("pods/run").plan.groups] == ["group-2", "group-10"]


@virtually
async def test_pods_at_work_that_share_an_index_take_a_place_each_and_that_is_reported(world: World) -> None:
    await world.daemon("pods")
    for name in ("master-0", "worker-0", "worker-1"):
        world.pod(name, labels=of_run(), ip=f"10.0.0.{len(name)}{name[-1]}")
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
        world.pod(f"run-{rank}", labels=of_run(**{"muster.dev/rank": str(rank)}), ip=f"10.0.0.{rank + 1}")
    await asyncio.sleep(3)
    if leaves == "failed":
        world.end("run-1", 1)
    else:
        world.api.objects[f"{PODS}/run-1"]["metadata"]["deletionTimestamp"] = world.api.now()
        world.pod("run-1")
    await asyncio.sleep(3)
    world.pod("again", labels=of_run(**{"muster.dev/rank": "1"}), ip="10.0.0.9")
    await asyncio.sleep(90)
    found = world.found("pods/run")
    assert (found.plan.size, found.view.of(0).members[1].name) == (2, "again")
    assert (message(world), stuck(world)) == ("2/2 members are ready", False)
