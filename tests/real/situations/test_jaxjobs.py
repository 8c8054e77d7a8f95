"""JAXJobs on the real API server: the CRD is installed after musterd was started, and the processes are real."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import yaml

from muster.api.names import LABEL_RANK
from muster.cli.processes.stack import free_port
from muster.local.foreign_crds import foreign_crds
from muster.state.foreign.subject import JAXJOB
from tests.real.ground import ROOT, TAINT, daemon_program
from tests.real.site import PROCESSES, Object, Site, eventually

pytestmark = pytest.mark.timeout(600)
LONG = 240.0
"""Seconds for what JAX processes do on a busy machine."""
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FILE = ROOT / "examples" / "jaxjob" / "jaxjob.yaml"


@asynccontextmanager
async def musterd(here: Site) -> AsyncIterator[None]:
    """A musterd of this namespace that runs JAXJobs; the one of the ground runs none. It was there before the CRD."""
    url = f"http://127.0.0.1:{free_port()}"
    flags = ("--foreign-kinds", "jaxjobs", "--namespace", here.namespace, "--lease-name", here.namespace)
    program = daemon_program(f"{here.namespace}-jaxjobs", here.ground, url, *flags, config=here.ground.admin)
    crd = next(each for each in foreign_crds() if each["spec"]["names"]["kind"] == JAXJOB.kind)
    try:
        await here.kubectl("apply", "--server-side", "-f", "-", body=crd)
        yield
    finally:
        await asyncio.to_thread(program.end)
        await here.request("DELETE", f"{CRDS}/{crd['metadata']['name']}")


def job(**variables: str) -> Object:
    """The example's file, on the node of real processes."""
    made: Object = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    spec = made["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]
    spec |= {"nodeSelector": dict(PROCESSES), "tolerations": [{"key": TAINT["key"], "operator": "Exists"}]}
    container = spec["containers"][0]
    container["command"][0] = sys.executable
    container["env"] = [{"name": name, "value": value} for name, value in {"JAX_PLATFORMS": "cpu", **variables}.items()]
    return made


async def conditions(here: Site) -> list[Any]:
    """Types of the true conditions; the record left out."""
    path = f"{JAXJOB.path.replace(JAXJOB.plural, '')}namespaces/{here.namespace}/{JAXJOB.plural}/jaxjob-simple"
    found = await here.get(path)
    listed = (found or {}).get("status", {}).get("conditions", ())
    return [each["type"] for each in listed if each["status"] == "True" and "/" not in each["type"]]


async def test_a_jaxjob_runs_and_goes_on_after_a_killed_process(here: Site) -> None:
    here.row.happens("the CRD of JAXJob comes after musterd; 2 JAX processes; rank 1 is killed; both succeed")

    async def last(wanted: str) -> None:
        async def holds() -> bool:
            return (await conditions(here))[-1:] == [wanted]

        await eventually(holds, LONG)

    async with musterd(here):
        await here.kubectl("apply", "-f", "-", body=job(ROUNDS="30", PAUSE="0.5"))
        await last("Running")

        async def both() -> bool:
            pods = await here.pods("jaxjob-simple")
            return len(pods) == 2 and all(pod["status"].get("phase") == "Running" for pod in pods)

        await eventually(both, LONG)
        await asyncio.sleep(3)
        here.kill(next(pod for pod in await here.pods("jaxjob-simple") if pod["metadata"]["labels"][LABEL_RANK] == "1"))
        await last("Restarting")
        await last("Succeeded")
        assert "Succeeded" in await here.kubectl("get", "jaxjobs")
        seen = await here.client.get("jaxjob/jaxjob-simple", namespace=here.namespace)
        assert (seen.phase, seen.status.restarts, seen.status.epoch) == ("Succeeded", 1, 1)
        here.row.says("Restarting, then Succeeded; one gang restart, named in the record of the JAXJob")
