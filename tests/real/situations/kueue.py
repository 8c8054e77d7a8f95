"""Kueue's kinds on the ground, and the stand-in of its controller.

The kinds are those of a release of Kueue where KUEUE_CRDS names the folder of its definitions
(config/components/crd/bases), with all that the API server checks of them; else they are served without a schema.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from muster.kube.resources import ResourceClient
from muster.reconcilers.render.workload import API_VERSION, KUEUE
from tests.e2e.kueue import KINDS, crd, running
from tests.fakes.kueue import FLAVOR, Kueue
from tests.real.ground import STAND_IN, TAINT
from tests.real.namespace import Object, eventually
from tests.real.site import Site

VARIABLE = "KUEUE_CRDS"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PRIORITY = "low"
FLAVORED = {"nodeLabels": STAND_IN, "tolerations": [{"key": TAINT["key"], "operator": "Exists"}]}
"""The pretended nodes: a pod that asks for nothing else is bound to one of them by its flavor alone."""


@asynccontextmanager
async def kueue(here: Site, quota: float) -> AsyncIterator[Kueue]:
    """Kueue is installed, with quota for that many CPUs, and its controller decides; it is removed afterwards."""
    names = await _define(here)
    flavor = {"metadata": {"name": FLAVOR}, "spec": FLAVORED}
    await _made(here, "resourceflavors", {"kind": "ResourceFlavor", **flavor})
    priority = {"metadata": {"name": PRIORITY}, "value": 100}
    await _made(here, "workloadpriorityclasses", {"kind": "WorkloadPriorityClass", **priority})
    made = Kueue(quota)
    try:
        async with running(ResourceClient(here.client.transport), made):
            yield made
    finally:
        for name in names:
            await here.request("DELETE", f"{CRDS}/{name}")


def workloads_path(here: Site, name: str = "") -> str:
    """The Workloads of the namespace, or one of them."""
    return f"/apis/{API_VERSION}/namespaces/{here.namespace}/workloads{f'/{name}' if name else ''}"


async def workload(here: Site) -> Object | None:
    """The Workload that Muster has made, which is not of a person."""
    found = (await here.request("GET", workloads_path(here)))["items"]
    return next((each for each in found if each["metadata"].get("ownerReferences")), None)


def urgent(name: str, cpus: float) -> Object:
    """A Workload of somebody else, with a priority above all others."""
    container = {"name": "main", "image": "registry.example/other:1", "resources": {"requests": {"cpu": str(cpus)}}}
    pod_set = {"name": "main", "count": 1, "template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}
    spec = {"queueName": "q", "priority": 1000, "podSets": [pod_set]}
    return {"apiVersion": API_VERSION, "kind": "Workload", "metadata": {"name": name}, "spec": spec}


async def _define(here: Site) -> list[str]:
    folder = os.environ.get(VARIABLE, "")
    made = []
    for plural, kind, scope in KINDS:
        body = _released(Path(folder) / f"{KUEUE}_{plural}.yaml") if folder else crd(plural, kind, scope)
        made.append(str((await here.request("POST", CRDS, body))["metadata"]["name"]))
    for plural, _, _ in KINDS:
        await _served(here, plural)
    return made


def _released(file: Path) -> Any:
    body = yaml.safe_load(file.read_text(encoding="utf-8"))
    approved = "https://github.com/kubernetes-sigs/kueue"
    body["metadata"].setdefault("annotations", {}).setdefault("api-approved.kubernetes.io", approved)
    return body


async def _served(here: Site, plural: str) -> None:
    async def served() -> bool:
        return await here.get(f"/apis/{API_VERSION}/{plural}") is not None

    await eventually(served)


async def _made(here: Site, plural: str, body: Object) -> None:
    """Create an object of the cluster."""
    await here.request("POST", f"/apis/{API_VERSION}/{plural}", {"apiVersion": API_VERSION, **body})
