"""Containers that the kubelet starts again in their pods, in runs whose coordinator has every rank a moment later."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from muster.api.goodput import Bucket
from muster.state.view.lead import Spent
from muster.state.view.progress import StepReport
from muster.state.view.roll import RollAnswer
from muster.state.vocabulary.record import Phase
from tests.daemon.virtual_daemon import Roll, scraped
from tests.daemon.watched.world import PODS, World, virtually

LABELS = {"muster.dev/observe": "run"}
JAX = {"muster.dev/operator": "jax", "muster.dev/size": "3"}
OOM = {"exitCode": 137, "reason": "OOMKilled"}


def again(world: World, rank: int, times: int, **ended: Any) -> None:
    """Let the kubelet start the container of a member again."""
    path = f"{PODS}/run-{rank}"
    found = world.api.objects[path]
    state = found["status"]["containerStatuses"][0]
    since = state["state"]["running"]["startedAt"]
    last = {"startedAt": since, "finishedAt": world.api.now(), **(ended or OOM)}
    running = {"running": {"startedAt": world.api.now()}}
    states = [{**state, "state": running, "restartCount": times, "lastState": {"terminated": last}}]
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
    events = [line for line in world.lines() if line.startswith("RestartedInPlace: rank 1 (run-1) ended with")]
    assert len(events) == 8
    body = scraped(world.daemons[-1][0])
    assert 'muster_experiment_container_restarts_total{experiment="pods/run",namespace="team"} 8.0' in body
    assert 'muster_container_restarts_total{operator="jax",reason="OOMKilled"} 8.0' in body


def at_work(whole: Roll, begun: float, first: int) -> Roll:
    """A coordinator in whose store the ranks report a step a second, from ``first`` on since that second."""

    def roll(now: float) -> RollAnswer:
        made = int(now - begun)
        if made < 0:
            return whole(now)
        report = StepReport(0, first + made, 1 + made, 1000 + begun + made, 1.0, (), 0.0, Spent(first, 1000 + begun))
        return replace(whole(now), reports=tuple(report._replace(rank=rank) for rank in range(3)))

    return roll


@virtually
async def test_what_is_made_again_is_lost_and_the_way_to_the_next_step_is_recovery(world: World) -> None:
    """Steps 0 to 100 in 100 s; the containers run again after 10 s, and the programs make step 80 after 20 s more."""
    await gathered(world)
    whole, clock = world.cluster.roll, world.cluster.wall
    world.cluster.roll = at_work(whole, clock(), 0)
    await asyncio.sleep(100)
    world.cluster.roll = whole
    ended = world.api.now()
    await asyncio.sleep(10)
    for rank in range(3):
        again(world, rank, 1, finishedAt=ended, exitCode=1, reason="Error")
    world.cluster.roll = at_work(whole, clock() + 20, 80)
    await asyncio.sleep(150)
    record = world.found("pods/run").record
    assert record.goodput is not None
    sums = record.goodput.at(clock())
    buckets = Bucket.LOST, Bucket.RECOVERY, Bucket.STUCK, Bucket.PROGRAM_STARTUP
    assert [sums.of(each) / 1000 for each in buckets] == pytest.approx([20, 30, 0, 10], abs=1.1)
    (line,) = [line for line in world.lines() if line.startswith("StepsResumed: ")]
    assert line.startswith("StepsResumed: its processes were restarted; resumed at step 80: at least ")
