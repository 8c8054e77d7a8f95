"""JAXJobs on the real API server, under the rights that the chart gives with settings.runKinds=jaxjobs.

The CRD is installed after musterd was started, and the processes are real.
"""

import asyncio
import sys
from contextlib import AsyncExitStack
from typing import Any

import pytest
import yaml

from muster.api.names import LABEL_RANK
from muster.state.vocabulary.subject import JAXJOB
from tests.deploy.chart.release import Release
from tests.real.ground import ROOT, TOLERATIONS
from tests.real.namespace import Object, eventually
from tests.real.rights_of_chart import of_chart
from tests.real.run_kinds import served
from tests.real.site import PROCESSES, Site

pytestmark = [pytest.mark.alone, pytest.mark.timeout(600), pytest.mark.usefixtures("our_servers")]
LONG = 240.0
"""Seconds for what JAX processes do on a busy machine."""
TTL = 20
FILE = ROOT / "examples" / "jaxjob" / "jaxjob.yaml"


def job(**variables: str) -> Object:
    """The example's file, on the node of real processes."""
    made: Object = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    made["spec"]["runPolicy"] = {"ttlSecondsAfterFinished": TTL}
    spec = made["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]
    spec |= {"nodeSelector": dict(PROCESSES), "tolerations": TOLERATIONS}
    container = spec["containers"][0]
    container["command"][0] = sys.executable
    container["env"] = [{"name": name, "value": value} for name, value in {"JAX_PLATFORMS": "cpu", **variables}.items()]
    return made


async def current(here: Site) -> Any:
    """The JAXJob; None when it is gone."""
    path = f"{JAXJOB.path.replace(JAXJOB.plural, '')}namespaces/{here.namespace}/{JAXJOB.plural}/jaxjob-simple"
    return await here.get(path)


async def conditions(here: Site) -> list[Any]:
    """Types of the true conditions; the record left out."""
    listed = (await current(here) or {}).get("status", {}).get("conditions", ())
    return [each["type"] for each in listed if each["status"] == "True" and "/" not in each["type"]]


async def test_a_jaxjob_outlives_a_killed_process_and_a_musterd_and_is_deleted_its_ttl_after_its_end(
    here: Site, ours: Release
) -> None:
    here.row.happens("the CRD of JAXJob comes after musterd of the chart; rank 1 is killed; musterd starts again; ttl")
    await ours.install("--set", f"settings.runKinds={JAXJOB.plural}")
    async with AsyncExitStack() as stack:
        async with ours.musterd() as first:
            await first.until_leading()
            await stack.enter_async_context(served(here, JAXJOB))
            await here.kubectl("apply", "-f", "-", body=job(ROUNDS="30", PAUSE="0.5"))
            await last(here, "Running")
            await here.all_run(2, "jaxjob-simple", LONG)
            await asyncio.sleep(3)
            members = await here.pods("jaxjob-simple")
            here.kill(next(pod for pod in members if pod["metadata"]["labels"][LABEL_RANK] == "1"))
            await last(here, "Restarting")
            assert first.refused() == []
        async with ours.musterd() as second:
            await last(here, "Succeeded")
            ended = "jsonpath={.items[*].status.conditions[?(@.status=='True')].type}"
            assert "Succeeded" in await here.kubectl("get", "jaxjobs", "-o", ended)
            seen = await here.client.get("jaxjob/jaxjob-simple", namespace=here.namespace)
            assert (seen.phase, seen.status.restarts, seen.status.epoch) == ("Succeeded", 1, 1)
            assert "Succeeded" in await here.muster("get", "jaxjob/jaxjob-simple")
            await eventually(lambda: current(here), holds=lambda found: found is None)
            here.row.says("Restarting, then Succeeded; one gang restart; deleted 20 s after its end")
            assert second.refused() == []
    await of_chart(here, ours, "kubeflow.org")


async def last(here: Site, wanted: str) -> None:
    await eventually(lambda: conditions(here), LONG, holds=lambda found: found[-1:] == [wanted])
