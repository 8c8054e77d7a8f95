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
from tests.e2e.kueue import CRDS, crd, install, running
from tests.fakes.kueue import Kueue
from tests.real.ground import STAND_IN, TOLERATIONS
from tests.real.namespace import Object
from tests.real.site import Site

VARIABLE = "KUEUE_CRDS"
PRIORITY = "low"
FLAVORED = {"nodeLabels": STAND_IN, "tolerations": TOLERATIONS}
"""The pretended nodes: a pod that asks for nothing else is bound to one of them by its flavor alone."""


@asynccontextmanager
async def kueue(here: Site, quota: float) -> AsyncIterator[Kueue]:
    """Kueue is installed, with quota for that many CPUs, and its controller decides; it is removed afterwards."""
    resources = ResourceClient(here.client.transport)
    names = await install(resources, flavor=FLAVORED, defined=_released if os.environ.get(VARIABLE) else crd)
    made = Kueue(quota)
    try:
        async with running(resources, made):
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


def _released(plural: str, _kind: str, _scope: str) -> Any:
    """The definition of a release."""
    body = yaml.safe_load((Path(os.environ[VARIABLE]) / f"{KUEUE}_{plural}.yaml").read_text(encoding="utf-8"))
    approved = "https://github.com/kubernetes-sigs/kueue"
    body["metadata"].setdefault("annotations", {}).setdefault("api-approved.kubernetes.io", approved)
    return body
