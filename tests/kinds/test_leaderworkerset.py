"""LeaderWorkerSets: groups of pods, each with a leader of its own."""

import asyncio
from typing import Any

import pytest

from muster.kinds import leaderworkerset
from muster.kinds.declaration import Place, PlanError, PodFacts
from muster.kinds.registry import WATCHED_KINDS
from muster.state.vocabulary.group import ProbeKind
from muster.state.vocabulary.record import Phase
from tests.daemon.watched.world import World, virtually

KIND = WATCHED_KINDS["leaderworkersets"]
PATH = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/team/leaderworkersets/llm"
JAX = {"muster.dev/operator": "jax"}


def a_set(replicas: int, size: int, annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "llm", "namespace": "team", "uid": "u-1", "annotations": annotations or {}}
    spec = {"replicas": replicas, "leaderWorkerTemplate": {"size": size}, **spec}
    return {"kind": "LeaderWorkerSet", "metadata": metadata, "spec": spec}


def labels(group: int, index: int) -> dict[str, str]:
    return {
        leaderworkerset.LABEL: "llm",
        leaderworkerset.GROUP_INDEX: str(group),
        leaderworkerset.INDEX: str(index),
        "apps.kubernetes.io/pod-index": str(index or group),
    }


def pod(world: World, group: int, index: int, **more: Any) -> str:
    name = f"llm-{group}-{index}" if index else f"llm-{group}"
    maker = [{"kind": "StatefulSet", "name": "llm", "uid": "s-1", "controller": True}]
    world.pod(name, ip=f"10.0.{group}.{index + 1}", labels=labels(group, index), ownerReferences=maker, **more)
    return name


async def begun(world: World, obj: dict[str, Any]) -> None:
    world.serve("leaderworkersets")
    await world.daemon("all")
    world.api.put(PATH, obj)


def test_the_leader_of_each_group_has_a_place_of_its_own() -> None:
    leaders = [PodFacts(f"llm-{group}", "team", labels(group, 0), {}, kind="StatefulSet") for group in (0, 1)]
    assert [leaderworkerset.place_of(each) for each in leaders] == [
        Place("leaderworkerset/llm", "group", 0, 0),
        Place("leaderworkerset/llm", "group", 1, 0),
    ]
    assert leaderworkerset.place_of(PodFacts("web-0", "team", {}, {}, kind="StatefulSet")) is None
    assert leaderworkerset.place_of(PodFacts("llm-0", "team", labels(0, 0), {})) is None, "anybody can write labels"


def test_one_group_is_asked_at_its_leader_and_of_several_none_is() -> None:
    """The leader of group 0 knows nothing of the others: its roll would call them missing."""
    alone = KIND.plan_of(a_set(1, 3, JAX))
    assert alone.asked is not None
    several = KIND.plan_of(a_set(2, 3, JAX))
    assert (several.asked, several.size) == (None, 6)
    assert several.notice.startswith("each of the 2 groups meets at its own leader")
    stated = KIND.plan_of(a_set(2, 3, {"muster.dev/probe": "http", "muster.dev/coordinator-port": "8000"}))
    assert stated.asked is not None
    assert (stated.asked.probe, stated.notice) == (ProbeKind.HTTP, "")


def test_numbers_that_are_absent_are_1_and_nonsense_is_refused() -> None:
    bare = {"metadata": {"name": "llm"}, "spec": {}}
    assert KIND.plan_of(bare).size == 1
    with pytest.raises(PlanError, match="spec: Expected `int"):
        KIND.plan_of({**bare, "spec": {"replicas": "two"}})


@virtually
async def test_the_sentence_names_the_group_and_the_rank(world: World) -> None:
    await begun(world, a_set(2, 3))
    for group in range(2):
        for index in range(3):
            pod(world, group, index)
    await asyncio.sleep(70)
    run = world.found("leaderworkerset/llm").record
    assert (run.phase, run.message) == (Phase.RUNNING, "6/6 members are ready")
    world.end("llm-1", 1)
    world.api.remove(f"/api/v1/namespaces/team/pods/{pod(world, 0, 2)}")
    await asyncio.sleep(2)
    run = world.found("leaderworkerset/llm").record
    assert run.message.startswith("rank 3 (group-1-0, llm-1) ended with exit code 1 in container train on node n1")
    pod(world, 1, 0)
    await asyncio.sleep(70)
    run = world.found("leaderworkerset/llm").record
    assert "5/6 pods exist; rank 2 (group-0-2) has no pod" in run.message
    world.api.remove("/api/v1/namespaces/team/pods/llm-1-1")
    await asyncio.sleep(2)
    run = world.found("leaderworkerset/llm").record
    assert "4/6 pods exist; ranks 2, 4 (first: group-0-2) have no pod" in run.message


@virtually
async def test_workers_are_not_missing_before_their_leader_is_ready(world: World) -> None:
    """With startupPolicy LeaderReady; a leader loads a model for many minutes."""
    await begun(world, a_set(2, 3, startupPolicy="LeaderReady"))
    pod(world, 0, 0, ready=False)
    pod(world, 1, 0)
    for index in (1, 2):
        pod(world, 1, index)
    await asyncio.sleep(400)
    run = world.found("leaderworkerset/llm").record
    assert "no pod" not in run.message
    assert not any(each.type == "Stuck" and each.status for each in run.conditions)
    pod(world, 0, 0)
    await asyncio.sleep(70)
    run = world.found("leaderworkerset/llm").record
    assert "4/6 pods exist; ranks 1-2 (first: group-0-1) have no pod" in run.message


@virtually
async def test_a_group_beyond_the_stated_ones_takes_no_place(world: World) -> None:
    """A rolling update makes more groups than the object states."""
    await begun(world, a_set(1, 2))
    for group in range(2):
        for index in range(2):
            pod(world, group, index)
    await asyncio.sleep(5)
    world.end("llm-1-1", 1)
    await asyncio.sleep(70)
    run = world.found("leaderworkerset/llm").record
    assert (run.size, run.message) == (2, "2/2 members are ready")
