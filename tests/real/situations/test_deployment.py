"""musterd as the pods of its Deployment: real controllers make them from what helm installs, the node agent runs them.

Not as in a cluster: the image (the code of this checkout runs in its place), the security context, the NetworkPolicy.
"""

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from muster.kube.resources import core
from tests.deploy.chart.release import NAME, Release
from tests.real.ground import TAINT
from tests.real.namespace import WITHIN, Object, eventually
from tests.real.site import PROCESSES, Site

pytestmark = [pytest.mark.alone, pytest.mark.timeout(900)]
VALUES = json.dumps(
    {
        "nodeSelector": PROCESSES,
        "tolerations": [{"key": TAINT["key"], "operator": "Exists"}],
        "settings": {"logFormat": "json"},
    }
)
ROLLED_OUT = ("rollout", "status", f"deployment/{NAME}", WITHIN)


async def test_two_replicas_of_the_deployment_run_an_experiment_and_hand_over_when_they_are_replaced(
    here: Site, ours: Release
) -> None:
    here.row.happens("helm install with 2 replicas that run as pods, an experiment; rollout restart; uninstall")
    values = Path(here.ground.folder) / f"{here.namespace}.json"
    await asyncio.to_thread(values.write_text, VALUES)
    await ours.install("--values", str(values), replicas=2)
    await here.kubectl(*ROLLED_OUT, "--namespace", ours.namespace)
    first = await replicas(here, ours)
    assert len(first) == 2
    assert {pod["status"]["containerStatuses"][0]["restartCount"] for pod in first.values()} == {0}
    assert {pod["spec"]["containers"][0].get("command") is None for pod in first.values()} == {True}
    leader = await leads(here, ours, set(first))

    await here.submit("before", "*: run 1, exit 0")
    await here.says("before", "^Succeeded AllMembersSucceeded all 2 members succeeded")
    await here.submit("during", "*: hold, exit 0")
    await here.phase("during", "Running")

    await here.kubectl("rollout", "restart", f"deployment/{NAME}", "--namespace", ours.namespace)
    await here.kubectl(*ROLLED_OUT, "--namespace", ours.namespace)
    second = await replicas(here, ours)
    assert len(second) == 2
    assert not set(first) & set(second)
    after = await leads(here, ours, set(second))
    for rank in (0, 1):
        await here.lets_go("during", rank)
    seen = await here.phase("during", "Succeeded")
    assert (seen.status.epoch, seen.status.restarts) == (0, 0)
    lease = await ours.get("lease")
    assert lease is not None
    transitions = lease["spec"]["leaseTransitions"]

    written = await asyncio.to_thread(logged, here, second.values())
    assert '"leading"' in written
    assert " cannot " not in written, "a right is missing"

    await ours.helm("uninstall")

    async def gone() -> bool:
        return not await replicas(here, ours)

    await eventually(gone)
    assert await ours.get("lease") is not None, "musterd has made it; it is no object of the chart"
    here.row.says(
        f"{leader} led and handed over to {after} ({transitions} transitions); Succeeded twice; no pod is left"
    )


async def replicas(here: Site, ours: Release) -> dict[str, Object]:
    """The pods of the Deployment that are not on their way out, by name."""
    answer = await here.request("GET", core(ours.namespace, "pods"))
    return {
        str(pod["metadata"]["name"]): pod for pod in answer["items"] if not pod["metadata"].get("deletionTimestamp")
    }


async def leads(here: Site, ours: Release, names: set[str]) -> str:
    """The pod of those that holds the Lease."""

    async def holder() -> str:
        lease = await ours.get("lease")
        assert lease is not None
        held = str(lease["spec"].get("holderIdentity") or "")
        return next((name for name in names if held.startswith(name)), "")

    return str(await eventually(holder))


def logged(here: Site, pods: Iterable[Object]) -> str:
    """What the pods wrote: the real API server has no kubelet to ask for logs."""
    folder = Path(here.ground.folder) / "node" / "pods"
    files = [file for pod in pods for file in (folder / pod["metadata"]["uid"] / "logs").rglob("*")]
    return "".join(file.read_text(encoding="utf-8") for file in files if file.is_file())
