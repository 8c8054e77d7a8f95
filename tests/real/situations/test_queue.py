"""Experiments in a queue of Kueue, under the rights that the chart gives with kueue.enabled.

Kueue's scheduler is a stand-in that follows recorded traces; API server, scheduler and rights are real.
"""

import pytest

from muster.reconcilers.render.workload import KUEUE
from tests.deploy.chart.release import Release
from tests.real.ground import STAND_IN
from tests.real.namespace import Object, eventually
from tests.real.rights_of_chart import of_chart
from tests.real.site import Site
from tests.real.situations.kueue import PRIORITY, kueue, urgent, workload, workloads_path

pytestmark = [pytest.mark.alone, pytest.mark.timeout(600)]
QUOTA = 0.2
"""CPUs: room for one experiment of these."""
LABELS = {f"{KUEUE}/queue-name": "q", f"{KUEUE}/priority-class": PRIORITY}
WAITS = (
    "queued in q: couldn't assign flavors to pod set worker: insufficient unused quota for cpu in flavor standard, "
    "0.2 more needed"
)


async def submit(here: Site, name: str, queue: str = "q") -> None:
    """An experiment of two members in a queue; where it runs is left to the flavor."""
    body = here.experiment(name, on={}, metadata={"labels": {**LABELS, f"{KUEUE}/queue-name": queue}})
    body["spec"]["types"]["worker"]["resources"]["extraTolerations"] = []
    await here.request("POST", f"/apis/{body['apiVersion']}/namespaces/{here.namespace}/experiments", body)


async def running(here: Site) -> list[Object]:
    """The pods that have not ended."""
    return [pod for pod in await here.pods() if pod["status"]["phase"] in ("Pending", "Running")]


@pytest.mark.usefixtures("our_servers")
async def test_a_gang_waits_in_its_queue_is_preempted_and_comes_back(here: Site, ours: Release) -> None:
    here.row.happens("Kueue comes after musterd; a gang waits, is admitted, preempted, admitted again, and suspended")
    await ours.install("--set", "kueue.enabled=true")
    async with ours.musterd() as daemon:
        await daemon.until_leading()
        await submit(here, "run")
        await here.is_stuck("run", "QueueUnavailable", "^Queued QueueUnavailable .*install Kueue")
        async with kueue(here, QUOTA):
            await here.phase("run", "Running")
            pods = await here.pods("run")
            assert [pod["spec"]["nodeSelector"] for pod in pods] == [STAND_IN] * 2

            await here.request("POST", workloads_path(here), urgent("urgent", QUOTA))
            said = await here.says("run", f"^Queued .*{WAITS}")
            seen = await here.phase("run", "Queued")
            assert (seen.status.epoch, seen.status.disruptions, seen.status.restarts) == (1, 1, 0)
            assert seen.status.cause is not None
            assert seen.status.cause.reason == "Preempted"
            assert await running(here) == []

            await here.request("DELETE", workloads_path(here, "urgent"))
            seen = await here.until("run", lambda seen: seen.phase == "Running" and seen.status.epoch == 1)
            assert len(await running(here)) == 2

            await submit(here, "elsewhere", queue="r")
            await here.is_stuck("elsewhere", "Misconfigured", "Queued .*LocalQueue r doesn't exist")
            await here.kubectl("label", "experiment", "elsewhere", "--overwrite", f"{KUEUE}/queue-name=q")
            await here.says("elsewhere", f"^Queued .*{WAITS}")
            await here.kubectl("delete", "experiment", "elsewhere")

            await here.change("run", suspend=True)
            await here.phase("run", "Suspended")
            await eventually(lambda: workload(here), holds=lambda found: found is None)
        assert daemon.refused() == []
    here.row.said = said
    await of_chart(here, ours, KUEUE)
