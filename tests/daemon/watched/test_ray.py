"""Ray's objects on a whole daemon: KubeRay's actions on them step by step, and the reports about them."""

import asyncio
from typing import Any

import pytest

from muster.state.vocabulary.record import Phase
from tests.daemon.watched.world import PODS, World, virtually

RAYCLUSTER = "/apis/ray.io/v1/namespaces/team/rayclusters/rc"
QUIET = {"include-dashboard": "false"}


def cluster(world: World, replicas: int, **metadata: Any) -> None:
    """Put a RayCluster of one head and a group of workers, which is not asked for its nodes."""
    group = {"groupName": "small", "replicas": replicas, "minReplicas": 0, "maxReplicas": 8, "template": {}}
    spec = {"headGroupSpec": {"rayStartParams": QUIET, "template": {}}, "workerGroupSpecs": [group]}
    world.api.put(RAYCLUSTER, {"kind": "RayCluster", "metadata": {"namespace": "team", **metadata}, "spec": spec})


def worker(world: World, index: int, **changes: Any) -> None:
    labels = {"ray.io/cluster": "rc", "ray.io/group": "small", "ray.io/worker-group-replica-index": str(index)}
    world.pod(f"rc-small-{index}", labels=labels, ip=f"10.0.0.{index + 2}", **changes)


def head(world: World) -> None:
    world.pod("rc-head", labels={"ray.io/cluster": "rc", "ray.io/group": "headgroup"})


@pytest.mark.parametrize("kept", [0, 1, 3])
@virtually
async def test_a_scale_down_is_neither_a_failure_nor_a_missing_pod(world: World, kept: int) -> None:
    world.serve("rayclusters")
    cluster(world, 4)
    head(world)
    for index in range(4):
        worker(world, index)
    await world.daemon("rayclusters")
    assert world.found("raycluster/rc").record.phase is Phase.RUNNING
    cluster(world, 1)
    await asyncio.sleep(0.05)
    doomed = [index for index in range(4) if index != kept]
    for index in doomed:
        world.pod(f"rc-small-{index}", deletionTimestamp=world.api.now())
        await asyncio.sleep(0.5)
    for index in reversed(doomed):
        world.end(f"rc-small-{index}", 143)
        await asyncio.sleep(0.5)
        world.api.remove(f"{PODS}/rc-small-{index}")
    await asyncio.sleep(100)
    seen = world.found("raycluster/rc")
    assert (seen.record.message, seen.record.ready) == ("2/2 members are ready", 2)
    story = "".join(world.lines())
    assert "MemberFailed" not in story
    assert "Stuck" not in story


RAYJOB = "/apis/ray.io/v1/namespaces/team/rayjobs/rj"
CLUSTER = {
    "headGroupSpec": {"rayStartParams": {"include-dashboard": "false"}, "template": {}},
    "workerGroupSpecs": [{"groupName": "small", "replicas": 2, "template": {}}],
}
SUBMITTER = {"ray.io/originated-from-crd": "RayJob", "ray.io/originated-from-cr-name": "rj"}


@virtually
async def test_the_end_of_its_submitter_is_no_alert_while_its_own_controller_has_not_ended_it(world: World) -> None:
    world.serve("rayjobs")
    status = {"rayClusterName": "rc", "jobId": "rj-x", "jobDeploymentStatus": "Running", "jobStatus": "RUNNING"}
    spec = {"entrypoint": "python x.py", "rayClusterSpec": CLUSTER}
    world.api.put(RAYJOB, {"kind": "RayJob", "metadata": {"namespace": "team"}, "spec": spec, "status": status})
    world.pod("rc-head", labels={"ray.io/cluster": "rc", "ray.io/group": "headgroup"})
    for index in range(2):
        labels = {"ray.io/cluster": "rc", "ray.io/group": "small", "ray.io/worker-group-replica-index": str(index)}
        world.pod(f"rc-small-{index}", labels=labels, ip=f"10.0.0.{index + 2}")
    world.pod("rj-submitter", labels=SUBMITTER, ip="10.0.0.9")
    await world.daemon("rayjobs")
    assert world.found("rayjob/rj").record.message == "4/4 members are ready"
    world.end("rj-submitter")
    await asyncio.sleep(600)
    run = world.found("rayjob/rj").record
    assert (run.phase, run.blocked) == (Phase.RUNNING, None)
    assert run.message == "4/4 members are ready, or have ended with exit code 0"
    assert "RanksEnded" not in "".join(world.lines())
