"""The history and the places of nodes of whole daemons: they outlive runs and leaders, and no step waits for them."""

import asyncio
import json
from itertools import pairwise
from typing import Any

import pytest

from muster.api.errors import error_of
from muster.api.names import LABEL_EXPERIMENT
from muster.daemon.incidents.node_history import HOUR, STALE, STORED
from muster.daemon.settings import Settings
from muster.state.facts.incidents.grouping import Key
from muster.state.facts.nodes.history import History
from tests.daemon.virtual_daemon import Daemons, experiment, of_daemons, scraped
from tests.fakes.objects import ended
from tests.fakes.plans import experiment_path

STORE = "/api/v1/namespaces/default/configmaps/musterd-nodes"
LEADING = Settings(leader_elect=True, node_history=True)
DENIED = error_of(403, "Forbidden", 'User "musterd" cannot create resource "configmaps"')


async def fail(world: Daemons, run: str, namespace: str, node: str = "gpu-017", code: int = 1) -> None:
    """Play a run of one member that ends on that node, and is deleted."""
    path = experiment_path(namespace, run)
    meta = {"name": run, "namespace": namespace}
    world.api.put(path, {**experiment(1, restartPolicy={"backoffLimit": 0}), "metadata": meta})
    await asyncio.sleep(2)
    (pod,) = (
        each
        for each, found in world.api.objects.items()
        if "/pods/" in each and found["metadata"]["labels"].get(LABEL_EXPERIMENT) == run
    )
    status = ended(code, world.api.now())
    found = world.api.objects[pod]
    world.api.put(pod, {**found, "spec": {**found["spec"], "nodeName": node}, "status": status})
    await asyncio.sleep(5)
    assert world.api.objects[path]["status"]["phase"] == status["phase"]
    world.api.delete(path)
    await asyncio.sleep(1)


async def work_elsewhere(world: Daemons, runs: int = 40) -> None:
    for number in range(runs):
        await fail(world, f"good-{number}", f"team-{number % 4}", f"gpu-{100 + number % 20}", code=0)


def stored(world: Daemons) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(world.api.objects[STORE]["data"]["nodes.json"])
    return found


@of_daemons
async def test_the_history_outlives_runs_and_leaders(world: Daemons) -> None:
    one = await world.start(LEADING, "one", after=20)
    two = await world.start(LEADING, "two")
    assert one.leading
    assert STORE not in world.api.objects, "nothing has failed"
    await work_elsewhere(world)
    for number in range(3):
        await fail(world, f"bad-{number}", f"team-{number}")
        await asyncio.sleep(700)
    assert [each.node for each in one.nodes.suspects] == ["gpu-017"]
    assert not two.nodes.listing().looked
    assert not two.nodes.history.failures()
    await world.stop(0)
    await asyncio.sleep(20)
    assert two.leading
    assert [each.run for each in two.nodes.history.failures()["gpu-017"]] == ["bad-0", "bad-1", "bad-2"]
    assert 'muster_node_suspect_runs{node="gpu-017"} 3.0' in scraped(two)
    await fail(world, "bad-3", "team-3")
    await asyncio.sleep(2 * STORED)
    (first, *_) = two.nodes.listing().nodes
    assert first.node == "gpu-017"
    assert "gpu-017 failed 4 runs of 4 namespaces in " in first.suspect
    assert [f"{each.namespace}/{each.run}" for each in first.failures] == [f"team-{n}/bad-{n}" for n in (3, 2, 1, 0)]
    await world.stop()
    three = await world.start(LEADING, "three", after=60)
    assert three.nodes.listing().nodes[0].failures == first.failures
    assert three.nodes.listing().looked


@of_daemons
async def test_it_is_written_once_a_minute_at_most_and_only_where_it_changed(world: Daemons) -> None:
    await world.start(LEADING, "one", after=20)
    began = world.loop.time()
    for number in range(60):
        await fail(world, f"run-{number}", f"team-{number % 3}")
    minutes = (world.loop.time() - began) / STORED
    writes = [at for at, what in world.cluster.times if what in ("POST configmaps", "PATCH musterd-nodes")]
    assert minutes - 2 <= len(writes) <= minutes + 1
    assert all(each.body["metadata"]["resourceVersion"] for each in world.api.asked(f"PATCH {STORE}"))
    assert min(later - at for at, later in pairwise(writes)) >= STORED
    await asyncio.sleep(3 * STORED)
    quiet = len(world.cluster.times)
    await asyncio.sleep(HOUR - 600)
    assert not [what for _, what in world.cluster.times[quiet:] if "configmaps" in what or "nodes" in what]


@of_daemons
async def test_without_the_right_it_is_kept_in_memory_and_the_daemon_is_ready(world: Daemons) -> None:
    world.api.fail("configmaps", DENIED, times=1_000_000)
    daemon = await world.start(LEADING, "one", after=20)
    await fail(world, "bad", "team")
    await asyncio.sleep(5 * STORED)
    assert "gpu-017" in daemon.nodes.history.failures()
    assert not daemon.health.unready()
    assert STORE not in world.api.objects
    assert not daemon.nodes.listing().looked, "what earlier leaders stored is not known"


@of_daemons
async def test_without_the_setting_nothing_is_asked_of_the_api_server(world: Daemons) -> None:
    daemon = await world.start(Settings(), "one", after=20)
    await fail(world, "bad", "team")
    await asyncio.sleep(5 * STORED)
    assert "gpu-017" in daemon.nodes.history.failures()
    assert daemon.nodes.listing().looked
    assert not world.api.asked("configmaps")


@pytest.mark.parametrize("text", ["", "{", '{"period": -1, "nodes": {"n": {"failures": [[1]]}}}'])
@of_daemons
async def test_what_is_stored_and_cannot_be_read_is_replaced(world: Daemons, text: str) -> None:
    meta = {"labels": {"of": "another"}}
    world.api.put(STORE, {"kind": "ConfigMap", "metadata": meta, "data": {"nodes.json": text, "mine": "x"}})
    await world.start(LEADING, "one", after=20)
    await fail(world, "bad", "team")
    await asyncio.sleep(2 * STORED)
    assert list(stored(world)["nodes"]) == ["gpu-017"]
    assert world.api.objects[STORE]["metadata"]["labels"] == meta["labels"]
    assert world.api.objects[STORE]["data"]["mine"] == "x"


@of_daemons
async def test_an_edit_and_a_deletion_by_others_cost_nothing(world: Daemons) -> None:
    daemon = await world.start(LEADING, "one", after=20)
    await fail(world, "a", "team")
    await asyncio.sleep(2 * STORED)
    lives = daemon.nodes.history.lives("gpu-017")
    world.api.put(STORE, {**world.api.objects[STORE], "metadata": {"labels": {"edited": "yes"}}})
    await fail(world, "b", "team")
    await asyncio.sleep(4 * STORED)
    assert {each[2] for each in stored(world)["nodes"]["gpu-017"]["failures"]} == {"a", "b"}
    assert daemon.nodes.history.lives("gpu-017")["team"] == lives["team"] + 1
    world.api.remove(STORE)
    await fail(world, "c", "team")
    await asyncio.sleep(4 * STORED)
    assert {each[2] for each in stored(world)["nodes"]["gpu-017"]["failures"]} == {"a", "b", "c"}


@of_daemons
async def test_each_hour_at_work_counts(world: Daemons) -> None:
    daemon = await world.start(LEADING, "one", after=20)
    world.api.put(experiment_path("team", "run"), experiment(2))
    await asyncio.sleep(2)
    world.cluster.start(0, 1)
    await asyncio.sleep(3 * HOUR)
    assert [daemon.nodes.history.lives(f"node-{rank}") for rank in (0, 1)] == [{"team": 1.5}] * 2
    history = History()
    history.take_in(world.api.objects[STORE]["data"]["nodes.json"].encode(), world.loop.time())
    assert history.lives() == daemon.nodes.history.lives() == {"team": 3.0}


RACK = "topology.kubernetes.io/rack"
NO_NODES = error_of(403, "Forbidden", 'nodes is forbidden: User "musterd" cannot list resource "nodes"')
SETTINGS = Settings(node_labels=True)


def put(world: Daemons, node: str, rack: str, **more: str) -> None:
    named = {"labels": {RACK: rack, **more}, "name": node}
    world.api.put(f"/api/v1/nodes/{node}", {"apiVersion": "v1", "kind": "Node", "metadata": named, "spec": {}})


@of_daemons
async def test_a_changed_label_a_new_node_and_a_deleted_one_are_seen(world: Daemons) -> None:
    for node in ("n1", "n2"):
        put(world, node, "r1")
    daemon = await world.start(SETTINGS)
    assert daemon.node_places is not None
    assert dict(daemon.node_places.now().sizes) == {Key("rack", "r1"): 2}
    put(world, "n2", "r2")
    put(world, "n3", "r2")
    await asyncio.sleep(1)
    assert dict(daemon.node_places.now().sizes) == {Key("rack", "r1"): 1, Key("rack", "r2"): 2}
    world.api.remove("/api/v1/nodes/n2")
    await asyncio.sleep(1)
    assert daemon.node_places.now().of("n2") == ()
    await asyncio.sleep(2 * STALE)
    assert len(daemon.node_places.now()) == 2, "a quiet watch is no old one"


@of_daemons
async def test_without_the_right_no_place_is_known_and_the_daemon_is_ready(world: Daemons) -> None:
    world.cluster.refused["nodes"] = NO_NODES
    world.api.fail("GET /api/v1/nodes", NO_NODES, times=1_000_000)
    daemon = await world.start(SETTINGS)
    await asyncio.sleep(200)
    assert daemon.node_places is not None
    assert len(daemon.node_places.now()) == 0
    assert not daemon.health.unready()
    assert 'muster_watch_synced{resource="nodes"} 0.0' in scraped(daemon)


@of_daemons
async def test_what_is_old_is_not_used(world: Daemons) -> None:
    put(world, "n1", "r1")
    daemon = await world.start(SETTINGS)
    assert daemon.node_places is not None
    world.cluster.refused["nodes"] = NO_NODES
    world.api.fail("GET /api/v1/nodes", NO_NODES, times=1_000_000)
    await asyncio.sleep(600 + STALE)
    assert len(daemon.node_places.now()) == 0


@pytest.mark.parametrize("label", ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"])
@of_daemons
async def test_nodes_of_the_control_plane_are_known_by_their_labels_as_long_as_these_are_fresh(
    world: Daemons, label: str
) -> None:
    put(world, "master-1", "r1", **{label: ""})
    put(world, "gpu-1", "r1")
    daemon = await world.start(SETTINGS)
    assert daemon.node_places is not None
    role = daemon.node_places.is_control_plane
    assert (role("master-1"), role("gpu-1"), role("gpu-2")) == (True, False, None)
    put(world, "gpu-1", "r1", **{label: "true"})
    world.api.remove("/api/v1/nodes/master-1")
    await asyncio.sleep(1)
    assert (role("master-1"), role("gpu-1")) == (None, True)
    world.cluster.refused["nodes"] = NO_NODES
    world.api.fail("GET /api/v1/nodes", NO_NODES, times=1_000_000)
    await asyncio.sleep(600 + STALE)
    assert role("gpu-1") is None


@of_daemons
async def test_nodes_are_read_only_where_that_is_asked_for(world: Daemons) -> None:
    await world.start(Settings())
    assert not [each for each in world.api.requests if "/nodes" in each.path]
