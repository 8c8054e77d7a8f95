"""Racks, pools and zones follow the labels of nodes, and a missing right to read them affects nothing else."""

import asyncio

import pytest

from muster.api.errors import error_of
from muster.daemon.incidents.node_history import STALE
from muster.daemon.settings import Settings
from muster.state.facts.incidents.grouping import Key
from tests.daemon.virtual_daemon import Daemons, of_daemons, scraped

RACK = "topology.kubernetes.io/rack"
DENIED = error_of(403, "Forbidden", 'nodes is forbidden: User "musterd" cannot list resource "nodes"')
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
    world.cluster.refused["nodes"] = DENIED
    world.api.fail("GET /api/v1/nodes", DENIED, times=1_000_000)
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
    world.cluster.refused["nodes"] = DENIED
    world.api.fail("GET /api/v1/nodes", DENIED, times=1_000_000)
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
    world.cluster.refused["nodes"] = DENIED
    world.api.fail("GET /api/v1/nodes", DENIED, times=1_000_000)
    await asyncio.sleep(600 + STALE)
    assert role("gpu-1") is None


@of_daemons
async def test_nodes_are_read_only_where_that_is_asked_for(world: Daemons) -> None:
    await world.start(Settings())
    assert not [each for each in world.api.requests if "/nodes" in each.path]
