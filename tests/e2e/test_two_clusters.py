"""Two clusters, each with a musterd, and what MultiKueue's generic adapter does between them (KEP-2349)."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from muster.client import Client
from tests.e2e.environment import environment, experiment

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

PATH = "/apis/muster.dev/v1alpha1/namespaces/default/experiments/train"
LABELS = {"kueue.x-k8s.io/prebuilt-workload-name": "train-1", "kueue.x-k8s.io/multikueue-origin": "manager"}


async def adapt(manager: Client, worker: Client) -> None:
    """Create the copy without managedBy, then copy its status, as a whole, whenever it differs."""
    local = await manager.resources.get(PATH)
    spec = {key: value for key, value in local["spec"].items() if key != "managedBy"}
    copy = {"apiVersion": local["apiVersion"], "kind": local["kind"], "spec": spec}
    copy["metadata"] = {"name": "train", "namespace": "default", "labels": LABELS}
    await worker.resources.create(PATH.rpartition("/")[0], copy)
    async for change in worker.watch("train"):
        status = change.experiment.raw.get("status")
        local = await manager.resources.get(PATH)
        if status and status != local.get("status"):
            body = msgspec.json.encode({**local, "status": status})
            answer = await manager.resources.transport.request("PUT", f"{PATH}/status", body=body)
            assert answer.status == 200
        if change.experiment.finished:
            return


async def test_an_experiment_of_another_manager_runs_in_the_other_cluster_and_its_status_comes_back(
    tmp_path: Path,
) -> None:
    train = experiment("train", "sleep 2", operator="jobset", managedBy="kueue.x-k8s.io/multikueue")
    async with environment(tmp_path / "manager") as manager, environment(tmp_path / "worker") as worker:
        await manager.start_daemon()
        await worker.start_daemon()
        await manager.client.submit(train)
        async with asyncio.timeout(120):
            await adapt(manager.client, worker.client)
        seen, ran = await manager.client.get("train"), await worker.client.get("train")
        assert seen.phase == ran.phase == "Succeeded"
        assert seen.raw["status"] == ran.raw["status"]
        assert seen.managed_by == "kueue.x-k8s.io/multikueue"
        assert ran.managed_by == ""
        pods = [await each.client.resources.get("/api/v1/namespaces/default/pods") for each in (manager, worker)]
        assert [len(each["items"]) for each in pods] == [0, 2]
        assert not [line for line in await manager.metrics() if 'experiment="train"' in line]
        assert [line for line in await worker.metrics() if 'experiment="train"' in line]
