"""A daemon that takes over a Stuck experiment neither clears Stuck nor sets it again."""

import asyncio
from random import Random

from muster.api.errors import error_of
from muster.daemon.app import Daemon
from tests.daemon.virtual_daemon import RUN, Cluster, experiment, started, virtually

FULL = error_of(403, "Forbidden", 'pods "x" is forbidden: exceeded quota: small, used: pods=1')


@virtually
async def test_stuck_does_not_flap_when_another_daemon_takes_over(cluster: Cluster, daemon: Daemon) -> None:
    fault = cluster.api.fail("POST /api/v1/namespaces/team/pods", FULL, times=1_000_000)
    cluster.api.put(RUN, experiment())
    await asyncio.sleep(5)
    assert cluster.condition("Stuck")["status"] == "True"
    said = len(cluster.events())
    daemon.stop()
    await asyncio.sleep(1)
    began = len(cluster.api.history.changes)
    second, running = started(cluster, instance="two", random=Random(2))
    await asyncio.sleep(60)
    statuses = [change.after["status"] for change in cluster.api.history.changes[began:] if change.path == RUN]
    stuck = [each["status"] for status in statuses for each in status["conditions"] if each["type"] == "Stuck"]
    assert "False" not in stuck
    assert len(cluster.events()) == said
    fault.times = 0
    await asyncio.sleep(31)
    assert cluster.condition("Stuck")["status"] == "False"
    second.stop()
    assert await running
