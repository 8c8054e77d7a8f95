"""Fifty experiments of four members at once, which leave nothing behind."""

import asyncio
from pathlib import Path

import pytest

from muster.client import Client
from tests.e2e.environment import children_of, descriptors_of, environment

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

EXPERIMENTS = 50
IDLE_CONNECTIONS = 32 + 32 + 8
"""Connections to the API server stay open for 15 s. One namespace has at most 32 creates and 32 other requests under
way (``--write-concurrency``); Events, Leases and watches add a few."""

SLEEPERS = """
apiVersion: muster.dev/v1alpha1
kind: Experiment
metadata: {{name: sleepers-{number}}}
spec:
  operator: jobset
  image: none
  command: "sleep 5"
  types:
    sleeper:
      count: 1
      completions: 4
      parallelisms: 4
      resources: {{cpus: 0.001, memory: 0.05}}
"""


async def test_fifty_experiments_run_and_leave_nothing_behind(tmp_path: Path) -> None:
    async with environment(tmp_path, "--memory-only") as here:
        await here.start_daemon()
        await here.client.submit(SLEEPERS.format(number="first"))
        await here.until("sleepers-first", lambda seen: seen.finished)
        await here.client.delete("sleepers-first")
        await gone(here.client)
        assert here.daemon is not None
        daemon = here.daemon.process.pid
        files, series, processes = (
            descriptors_of(daemon),
            series_of(await here.metrics()),
            len(children_of(here.cluster.pid)),
        )

        names = [f"sleepers-{number}" for number in range(EXPERIMENTS)]
        await asyncio.gather(*(here.client.submit(SLEEPERS.format(number=number)) for number in range(EXPERIMENTS)))
        ends = await asyncio.gather(*(here.until(name, lambda seen: seen.finished, 240) for name in names))
        assert {end.phase for end in ends} == {"Succeeded"}
        assert {(end.status.epoch, end.status.restarts) for end in ends} == {(0, 0)}

        await asyncio.gather(*(here.client.delete(name) for name in names))
        await gone(here.client)
        await asyncio.sleep(1)  # the last watch events arrive
        assert len(children_of(here.cluster.pid)) <= processes
        assert descriptors_of(daemon) <= files + IDLE_CONNECTIONS
        left = await here.metrics()
        assert not [line for line in left if "sleepers-" in line]
        assert series_of(left) <= series + 15  # of requests and outcomes that occurred for the first time


def series_of(metrics: list[str]) -> int:
    """How many series there are, buckets of histograms aside."""
    return sum("_bucket{" not in line for line in metrics)


async def gone(client: Client) -> None:
    """Wait until no experiment exists."""
    for _ in range(300):
        if not await client.list():
            return
        await asyncio.sleep(0.2)
    raise AssertionError("experiments are left")
