"""Kueue's kinds on a cluster, and the stand-in of its controller, which reads and writes them over HTTP."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
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
Row = tuple[str, str, dict[str, Any]]
"""Plural, kind, and the rest of an object."""
KINDS = (
    ("workloads", "Workload", "Namespaced"),
    ("resourceflavors", "ResourceFlavor", "Cluster"),
    ("workloadpriorityclasses", "WorkloadPriorityClass", "Cluster"),
)


def crd(plural: str, kind: str, scope: str) -> dict[str, Any]:
    """The definition of a kind, without the checks of its fields."""
    return definition(API_VERSION, plural, kind, scope=scope, status=kind == "Workload")


async def install(
    resources: ResourceClient,
    *,
    flavor: Mapping[str, Any] = {"nodeLabels": {"kubernetes.io/os": "linux"}},
    defined: Callable[[str, str, str], dict[str, Any]] = crd,
) -> list[str]:
    """Install the kinds, the flavor and two priority classes; the names of the definitions."""
    names = []
    for each in KINDS:
        names.append(str((await resources.create(CRDS, defined(*each)))["metadata"]["name"]))
    flavors: Row = ("resourceflavors", "ResourceFlavor", {"metadata": {"name": FLAVOR}, "spec": flavor})
    priorities: list[Row] = [
        ("workloadpriorityclasses", "WorkloadPriorityClass", {"metadata": {"name": name}, "value": value})
        for name, value in (("low", 100), ("high", 1000))
    ]
    for plural, kind, body in (flavors, *priorities):
        made = {"apiVersion": API_VERSION, "kind": kind, **body}
        await _once_served(partial(resources.create, f"/apis/{API_VERSION}/{plural}", made))
    await _once_served(partial(resources.list, f"/apis/{API_VERSION}/workloads"))
    return names


async def _once_served(ask: Callable[[], Awaitable[object]]) -> None:
    """Ask for a kind that may begin to be served a moment later."""
    async with asyncio.timeout(60):
        while True:
            try:
                await ask()
            except NotFound:
                await asyncio.sleep(0.05)
            else:
                return


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
