"""Experiments in a queue, with real processes: quota for one gang, and a stand-in for Kueue."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from muster.api.errors import NotFound
from muster.kube.resources import ResourceClient
from muster.reconcilers.render.workload import API_VERSION
from tests.e2e.environment import Environment, environment
from tests.e2e.kueue import install, running
from tests.fakes.kueue import Kueue

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

WORKLOADS = f"/apis/{API_VERSION}/namespaces/default/workloads"
SLEEPERS = """
apiVersion: muster.dev/v1alpha1
kind: Experiment
metadata:
  name: {name}
  labels: {{kueue.x-k8s.io/queue-name: q, kueue.x-k8s.io/priority-class: low}}
spec:
  operator: jobset
  image: none
  command: "{command}"
  restartPolicy: {{backoff: {{initial: 0s}}}}
  types:
    sleeper:
      count: 2
      completions: 1
      resources: {{cpus: 0.1, memory: 0.05}}
"""
FAILS_ONCE = "sleep 1; test $MUSTER_EPOCH != 0 || exit 3; until test -e {flag}; do sleep 0.1; done"
"""It then keeps its quota until the test makes the flag."""
QUOTA = 0.2


async def workloads(resources: ResourceClient) -> list[dict[str, Any]]:
    return [dict(each) for each in await resources.list(WORKLOADS)]


async def test_the_second_runs_after_the_first_and_a_restart_keeps_the_place(tmp_path: Path) -> None:
    async with environment(tmp_path, "--memory-only") as here:
        resources = ResourceClient(here.client.transport)
        flag = tmp_path / "the-second-has-waited"
        await here.start_daemon("--kueue")
        await here.client.submit(SLEEPERS.format(name="first", command=FAILS_ONCE.format(flag=flag)))
        stuck = await here.until("first", lambda seen: "install Kueue" in seen.status.message)
        assert (stuck.phase, stuck.status.reason) == ("Queued", "QueueUnavailable")

        await install(resources)  # Kueue is installed later, and found without a restart of musterd
        async with running(resources, Kueue(QUOTA)):
            await here.until("first", lambda seen: seen.phase not in ("Queued", "Pending"))
            await here.client.submit(SLEEPERS.format(name="second", command="sleep 1"))
            waits = await here.until("second", lambda seen: "insufficient unused quota" in seen.status.message)
            assert waits.phase == "Queued"
            assert waits.status.message.startswith("queued in q: couldn't assign flavors to pod set sleeper")
            assert await pods_of(here, "second") == []
            flag.touch()
            first, second = await asyncio.gather(
                here.until("first", lambda seen: seen.finished), here.until("second", lambda seen: seen.finished)
            )
            assert (first.phase, first.status.epoch, first.status.restarts) == ("Succeeded", 1, 1)
            assert (second.phase, second.status.epoch) == ("Succeeded", 0)
            assert (second.status.epoch_at or 0) >= (first.status.finished_at or 0)
            for each in await workloads(resources):
                await finished(resources, each["metadata"]["name"])
            await here.client.delete("first")
            await here.client.delete("second")
            await gone(resources)


async def pods_of(here: Environment, name: str) -> list[dict[str, Any]]:
    resources = ResourceClient(here.client.transport)
    found = await resources.list("/api/v1/namespaces/default/pods", {"labelSelector": f"muster.dev/experiment={name}"})
    return [dict(each) for each in found]


async def finished(resources: ResourceClient, name: str) -> None:
    """Wait until the Workload is finished and nothing of Muster's holds it."""
    for _ in range(200):
        found = await resources.get(f"{WORKLOADS}/{name}")
        done = [
            each for each in found["status"]["conditions"] if each["type"] == "Finished" and each["status"] == "True"
        ]
        if done and not found["metadata"].get("finalizers"):
            assert done[0]["reason"] == "Succeeded"
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"Workload {name} is not finished: {found}")


async def gone(resources: ResourceClient) -> None:
    """Wait until there is no Workload."""
    for _ in range(200):
        try:
            if not await workloads(resources):
                return
        except NotFound:
            return
        await asyncio.sleep(0.05)
    raise AssertionError("Workloads are left")
