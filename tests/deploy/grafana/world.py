"""The cluster that the dashboards are tried on: real experiments, a real musterd, and a Prometheus that scrapes it."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from muster.cli.processes.stack import Child, module
from muster.client import Client, Snapshot
from muster.kube.resources import core
from tests.deploy.grafana.dashboards import ROOT
from tests.deploy.grafana.proxy import Proxy, proxy
from tests.deploy.grafana.ray.callers import stand_ins
from tests.deploy.grafana.server import Prometheus, prometheus
from tests.deploy.grafana.situations import (
    OBSERVED_NAMESPACE,
    RAY,
    RAY_NAMESPACE,
    SITUATIONS,
    Holds,
    Situation,
    labelled_pods,
    refusals,
)
from tests.e2e.environment import Environment, environment
from tests.processes.forked import start_child

PATIENCE = 240.0
"""Seconds in which every situation must come: sixteen processes start at once, and eight of them import jax."""

RULES = ROOT / "deploy" / "prometheus" / "muster.rules.yaml"

LEASE = ("--lease-duration", "90", "--renew-deadline", "60")
"""A machine that runs nine experiments and all queries on two processors may hold musterd up for 10 s."""


@dataclass(frozen=True, slots=True)
class World:
    """What runs. ``began`` is in wall seconds."""

    server: Prometheus
    proxy: Proxy
    client: Client
    began: float


@asynccontextmanager
async def world(folder: Path) -> AsyncIterator[World]:
    """All situations; each has happened when the block begins."""
    async with environment(folder / "cluster", "--memory-only") as here:
        through = folder / "through-proxy"
        async with proxy(Path(here.cluster.kubeconfig), through, refusals()) as between:
            await _make_lease(here.client)
            daemon = await _daemon(here, through)
            try:
                async with prometheus(folder / "prometheus", f"127.0.0.1:{here.port}", rules=(RULES,)) as server:
                    running = World(server, between, here.client, time.time())
                    with stand_ins(here.home.callers, folder / "ray", RAY_NAMESPACE, RAY):
                        await _play(running)
                        yield running
            finally:
                await daemon.stop()


async def _make_lease(client: Client) -> None:
    """An empty Lease, as the chart makes it: the first daemon takes it at once."""
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "musterd"}, "spec": {}}
    await client.resources.create("/apis/coordination.k8s.io/v1/namespaces/default/leases", lease)


async def _daemon(here: Environment, kubeconfig: Path) -> Child:
    reached = ("--kubeconfig", str(kubeconfig), "--http-port", str(here.port))
    options = (*reached, "--leader-elect", "--kueue", "--watch-kinds", "pods", *LEASE, "--owner-labels", "team")
    return await start_child("daemon", module("muster.daemon.main", *options), here.home.daemon_log)


async def _play(running: World) -> None:
    async with asyncio.timeout(PATIENCE):
        await _until_scraped(running.server)
        for namespace in sorted({situation.namespace for situation in SITUATIONS}):
            space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            await running.client.resources.create("/api/v1/namespaces", space)
        for pod in labelled_pods():
            await running.client.resources.create(core(OBSERVED_NAMESPACE, "pods"), pod)
        for late in (False, True):
            async with asyncio.TaskGroup() as group:
                for situation in SITUATIONS:
                    if situation.late is late:
                        group.create_task(_bring_about(running.client, situation), name=situation.name)
        for _ in range(2):  # the first opens a series, the second is an increase
            running.proxy.cut_watches()
            await asyncio.sleep(3)


async def _until_scraped(server: Prometheus) -> None:
    """Counters are read at zero before anything happens, so that their first increase is seen."""
    for _ in range(600):
        if await server.query("muster_leader == 1"):
            return
        await asyncio.sleep(0.2)
    raise AssertionError("musterd does not lead, or Prometheus does not scrape it")


async def _bring_about(client: Client, situation: Situation) -> None:
    seen = await client.submit(situation.manifest)
    if situation.ready and situation.deed:
        seen = await _until(client, seen, situation.ready)
        await situation.deed(client, seen)
    await _until(client, seen, situation.holds)


async def _until(client: Client, seen: Snapshot, holds: Holds) -> Snapshot:
    async for change in client.watch(seen.name, namespace=seen.namespace):
        seen = change.experiment
        if holds(seen):
            return seen
        assert not seen.finished, f"{seen.name} has ended: {seen.message}"
    raise AssertionError("the watch ended")
