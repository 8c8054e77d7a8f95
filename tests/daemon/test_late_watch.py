"""A live list may be ahead of the watch: a pod that it lacks is not gone before its last state is known."""

import asyncio

from muster.daemon.app import Daemon
from tests.daemon.virtual_daemon import Cluster, virtually


@virtually
async def test_members_that_succeeded_and_were_removed_before_the_deadline_have_succeeded(
    cluster: Cluster, daemon: Daemon
) -> None:
    await cluster.gang(timeout="60s")
    cluster.pods_late_until = cluster.loop.time() + 60
    cluster.end(0, 1)
    cluster.collect()
    await asyncio.sleep(59)  # the deadline has passed
    assert cluster.status["phase"] == "Running"
    await asyncio.sleep(3)
    assert (cluster.status["phase"], cluster.status.get("reason")) == ("Succeeded", "AllMembersSucceeded")
