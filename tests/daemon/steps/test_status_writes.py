"""A status follows the truth within five seconds, and an experiment that flaps does not flood the API server."""

import asyncio
import re

import pytest

from muster.daemon.app import Daemon
from muster.state.view.roll import CoordinatorState, RollAnswer
from tests.daemon.virtual_daemon import RUN, Cluster, Roll, experiment, virtually

LOST = CoordinatorState.REFUSED


def flapping(up: float, down: float, serving: Roll) -> Roll:
    """Return a coordinator that serves for ``up`` seconds and is gone for ``down``, again and again."""

    def roll(now: float) -> RollAnswer:
        return serving(now) if now % (up + down) < up else RollAnswer(at=now, coordinator=LOST)

    return roll


async def running(cluster: Cluster, size: int = 2) -> Roll:
    """Start a jax gang of that size, and let it assemble. Return its coordinator's answers."""
    cluster.api.put(RUN, experiment(size, operator="jax"))
    await asyncio.sleep(2)
    cluster.start(*range(size))
    serving = cluster.roll = cluster.arrived(*range(size), size=size)
    await asyncio.sleep(30)
    assert cluster.status["phase"] == "Running"
    return serving


@virtually
async def test_the_sentence_follows_each_member_within_five_seconds_however_old_the_phase_is(
    cluster: Cluster, daemon: Daemon
) -> None:
    cluster.api.put(RUN, experiment(3))
    await asyncio.sleep(2)
    for rank in range(3):
        await asyncio.sleep(47)
        cluster.start(rank)
        await asyncio.sleep(5)
        assert cluster.status["message"].startswith(f"{rank + 1}/3 ")
        assert cluster.status["ready"] == f"{rank + 1}/3"
    await asyncio.sleep(24 * 3600)
    for ready in (False, True, False):
        cluster.start(1, ready=ready)
        await asyncio.sleep(5)
        assert cluster.status["message"].startswith(f"{2 + ready}/3 ")


@virtually
async def test_a_large_gangs_sentence_is_true_at_every_moment_without_a_write_for_each_member(
    cluster: Cluster, daemon: Daemon
) -> None:
    size = 40
    cluster.api.put(RUN, experiment(size))
    await asyncio.sleep(5)
    before = cluster.writes("PUT status")
    for rank in range(size):
        cluster.start(rank)
        await asyncio.sleep(6)
        said = re.match(r"(fewer than )?(\d+)(?: to (\d+) of| of|/)", cluster.status["message"])
        assert said is not None
        first = int(said[2])
        low, high = (0, first - 1) if said[1] else (first, int(said[3] or first))
        assert low <= rank + 1 <= high, cluster.status["message"]
    assert cluster.writes("PUT status") - before <= 4


@pytest.mark.parametrize(("up", "down"), [(1, 1), (2, 5), (5, 5), (1, 10), (10, 10), (30, 30), (60, 7)])
@virtually
async def test_a_coordinator_that_flaps_costs_few_writes_and_events(
    cluster: Cluster, daemon: Daemon, up: float, down: float
) -> None:
    cluster.roll = flapping(up, down, await running(cluster))
    began = asyncio.get_running_loop().time()
    await asyncio.sleep(600)
    assert cluster.writes("PUT status", began) <= 25
    assert cluster.writes("POST events", began) <= 25
    for minute in range(10):
        times = [at for at, what in cluster.times if what == "PUT status" and 0 <= at - began - 60 * minute < 60]
        assert len(times) <= 11


@virtually
async def test_one_lost_probe_turns_nothing(cluster: Cluster, daemon: Daemon) -> None:
    serving = await running(cluster)
    before = len(cluster.times)
    cluster.roll = flapping(27, 3, serving)
    await asyncio.sleep(300)
    assert len(cluster.times) == before
    assert cluster.condition("CoordinatorReady")["status"] == "True"


@virtually
async def test_a_coordinator_that_is_lost_and_one_that_is_back_are_reported_in_time(
    cluster: Cluster, daemon: Daemon
) -> None:
    serving = await running(cluster)
    cluster.roll = lambda now: RollAnswer(at=now, coordinator=LOST)
    await asyncio.sleep(10)
    assert cluster.condition("CoordinatorReady")["status"] == "False"
    assert cluster.condition("Stuck")["reason"] == "CoordinatorUnreachable"
    cluster.roll = serving
    await asyncio.sleep(5)
    assert cluster.condition("CoordinatorReady")["status"] == "True"
    assert cluster.condition("Stuck")["status"] == "False"
    assert cluster.status["reason"] == "RollComplete"


@virtually
async def test_a_coordinator_that_comes_and_goes_is_reported_to_do_so_until_it_stays(
    cluster: Cluster, daemon: Daemon
) -> None:
    serving = await running(cluster)
    cluster.roll = flapping(10, 10, serving)
    await asyncio.sleep(200)
    assert "the coordinator comes and goes" in cluster.status["message"]
    assert cluster.condition("CoordinatorReady")["status"] == "False"
    cluster.roll = serving
    await asyncio.sleep(70)
    assert cluster.condition("CoordinatorReady")["status"] == "True"
    assert cluster.status["reason"] == "RollComplete"


@virtually
async def test_ranks_that_come_slowly_are_not_stuck_at_each_pause(cluster: Cluster, daemon: Daemon) -> None:
    size = 12
    cluster.api.put(RUN, experiment(size, operator="jax"))
    await asyncio.sleep(2)
    cluster.start(*range(size))
    for rank in range(size):
        cluster.roll = cluster.arrived(*range(rank + 1), size=size)
        await asyncio.sleep(15)
    assert cluster.status["phase"] == "Running"
    assert len(cluster.events("Stuck")) <= 2


@virtually
async def test_a_large_gang_starts_and_ends_slowly_within_ten_status_writes(cluster: Cluster, daemon: Daemon) -> None:
    size = 40
    cluster.api.put(RUN, experiment(size, operator="jax"))
    await asyncio.sleep(5)
    for rank in range(size):
        cluster.play(rank, phase="Pending", conditions=[{"type": "PodScheduled", "status": "True"}])
    for rank in range(size):
        cluster.start(rank)
        cluster.roll = cluster.arrived(*range(rank + 1), size=size)
        await asyncio.sleep(5)
    assert cluster.status["phase"] == "Running"
    for rank in range(size):
        cluster.end(rank)
        await asyncio.sleep(5)
    assert cluster.status["phase"] == "Succeeded"
    assert cluster.writes("PUT status") <= 9
