"""Containers that the kubelet starts again in their pods, in runs whose coordinator has every rank a moment later."""

import asyncio
from typing import Any

from muster.state.vocabulary.record import Phase
from tests.daemon.virtual_daemon import scraped
from tests.daemon.watched.world import PODS, World, virtually

LABELS = {"muster.dev/observe": "run"}
JAX = {"muster.dev/operator": "jax", "muster.dev/size": "3"}
OOM = {"exitCode": 137, "reason": "OOMKilled"}


def again(world: World, rank: int, times: int, **ended: Any) -> None:
    """Let the kubelet start the container of a member again."""
    path = f"{PODS}/run-{rank}"
    found = world.api.objects[path]
    last = {"finishedAt": world.api.now(), **(ended or OOM)}
    state = found["status"]["containerStatuses"][0]
    states = [{**state, "restartCount": times, "lastState": {"terminated": last}}]
    spec = {**found["spec"], "restartPolicy": "OnFailure"}
    world.api.put(path, {**found, "spec": spec, "status": {**found["status"], "containerStatuses": states}})


async def gathered(world: World) -> None:
    world.cluster.roll = world.cluster.arrived(0, 1, 2, size=3)
    await world.daemon("pods")
    for rank in range(3):
        world.pod(f"run-{rank}", ip=f"10.0.0.{rank + 1}", labels=LABELS, annotations=JAX)
    await asyncio.sleep(10)
    assert world.found("pods/run").record.message == "3/3 ranks arrived"


@virtually
async def test_eight_kills_in_a_row_are_eight_events_and_counted(world: World) -> None:
    await gathered(world)
    for times in range(1, 9):
        again(world, 1, times)
        await asyncio.sleep(60)
    now = world.found("pods/run").record
    assert now.phase is Phase.RUNNING
    assert now.message.startswith("3/3 ranks arrived; rank 1 (run-1) ended with exit code 137 (SIGKILL), OOMKilled")
    assert "; started again in its pod 8 times (last end at " in now.message
    events = [line for line in world.said() if line.startswith("RestartedInPlace: rank 1 (run-1) ended with")]
    assert len(events) == 8
    body = scraped(world.daemons[-1][0])
    assert 'muster_experiment_container_restarts_total{experiment="pods/run",namespace="team"} 8.0' in body
    assert 'muster_container_restarts_total{operator="jax",reason="OOMKilled"} 8.0' in body


@virtually
async def test_the_members_that_follow_are_counted_behind_the_first(world: World) -> None:
    await gathered(world)
    again(world, 2, 1, exitCode=1, reason="Error", message="ValueError: bad shard\n")
    await asyncio.sleep(6)
    for rank in (0, 1):
        again(world, rank, 1, exitCode=139, reason="Error")
    await asyncio.sleep(20)
    message = world.found("pods/run").record.message
    assert "rank 2 (run-2) ended with exit code 1 in container train on node n1" in message
    assert message.endswith("; after it 2 restarts of other members")
