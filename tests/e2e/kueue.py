"""Kueue's kinds on a cluster, and the stand-in of its controller, which reads and writes them over HTTP."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from muster.api.errors import ApiError, Conflict, NotFound
from muster.api.values.timestamps import whole_time
from muster.kube.resources import ResourceClient
from muster.reconcilers.render.workload import API_VERSION
from tests.fakes.definitions import definition
from tests.fakes.kueue import FLAVOR, Kueue

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PERIOD = 0.05
"""Seconds between two passes."""
KINDS = (
    ("workloads", "Workload", "Namespaced"),
    ("resourceflavors", "ResourceFlavor", "Cluster"),
    ("workloadpriorityclasses", "WorkloadPriorityClass", "Cluster"),
)


def crd(plural: str, kind: str, scope: str) -> dict[str, Any]:
    """The definition of a kind, without the checks of its fields."""
    return definition(API_VERSION, plural, kind, scope=scope, status=kind == "Workload")


async def install(resources: ResourceClient) -> None:
    """Install the kinds, the flavor and two priority classes."""
    for plural, kind, scope in KINDS:
        await resources.create(CRDS, crd(plural, kind, scope))
    for plural, kind, body in (
        (
            "resourceflavors",
            "ResourceFlavor",
            {"metadata": {"name": FLAVOR}, "spec": {"nodeLabels": {"kubernetes.io/os": "linux"}}},
        ),
        ("workloadpriorityclasses", "WorkloadPriorityClass", {"metadata": {"name": "low"}, "value": 100}),
        ("workloadpriorityclasses", "WorkloadPriorityClass", {"metadata": {"name": "high"}, "value": 1000}),
    ):
        await _made(resources, f"/apis/{API_VERSION}/{plural}", {"apiVersion": API_VERSION, "kind": kind, **body})


async def _made(resources: ResourceClient, path: str, body: dict[str, Any]) -> None:
    """Create an object of a kind that may begin to be served a moment later."""
    for _ in range(100):
        try:
            await resources.create(path, body)
        except NotFound:
            await asyncio.sleep(0.05)
        else:
            return
    raise AssertionError(f"{path} is not served")


@asynccontextmanager
async def running(resources: ResourceClient, kueue: Kueue) -> AsyncIterator[None]:
    """The stand-in decides every ``PERIOD`` seconds for the duration of the block."""

    async def follow() -> None:
        while True:
            await one_pass(resources, kueue)
            await asyncio.sleep(PERIOD)

    task = asyncio.create_task(follow(), name="kueue")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def one_pass(resources: ResourceClient, kueue: Kueue) -> None:
    """Write the status that each Workload gets."""
    found = await resources.list(f"/apis/{API_VERSION}/workloads")
    now = whole_time(time.time())
    for workload, status in kueue.reconcile([dict(each) for each in found], now):
        metadata = workload["metadata"]
        path = f"/apis/{API_VERSION}/namespaces/{metadata['namespace']}/workloads/{metadata['name']}/status"
        patch = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "status": status}
        try:
            await resources.merge(path, patch)
        except (Conflict, NotFound):
            continue  # it has changed: the next pass sees how
        except ApiError as error:
            raise AssertionError(f"the stand-in cannot write {path}: {error}") from error
