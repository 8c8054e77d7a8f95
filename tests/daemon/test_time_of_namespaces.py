"""A daemon counts the time of all runs by bucket, also of a run that begins and ends between two scrapes."""

import asyncio
import re

from muster.daemon.app import Daemon
from tests.daemon.virtual_daemon import RUN, Cluster, experiment, scraped, virtually

GPUS = {"cpus": 1, "ramRatio": 2, "accelerators": {"gpu": {"count": 4, "product": "any"}}}


def counted(daemon: Daemon, name: str) -> dict[str, float]:
    found = re.findall(
        rf'^{name}\{{bucket="(\w+)",namespace="team",operator="jobset".*\}} (\S+)$', scraped(daemon), re.M
    )
    return {bucket: float(value) for bucket, value in found if float(value)}


@virtually
async def test_the_seconds_of_a_run_are_those_of_its_status(cluster: Cluster, daemon: Daemon) -> None:
    worker = {"count": 2, "resources": GPUS}
    cluster.api.put(RUN, experiment(types={"worker": worker}))
    await asyncio.sleep(5)
    cluster.start(*range(2))
    await asyncio.sleep(20)
    assert counted(daemon, "muster_namespace_seconds_total")["productive"] > 15
    await asyncio.sleep(20)
    cluster.end(*range(2))
    await asyncio.sleep(5)
    sums = cluster.status["goodput"]
    seconds = counted(daemon, "muster_namespace_seconds_total")
    assert seconds["productive"] == sums["productive"] / 1000
    weighed = counted(daemon, "muster_namespace_accelerator_seconds_total")
    assert weighed["productive"] == 8 * seconds["productive"]
