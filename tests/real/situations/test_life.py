"""Memory, names used again, strangers' pods and volumes, with the real scheduler and the real garbage collector.

Restarts, deadlines, suspension, cancelling and deletion are scenarios (``test_scenarios``).
"""

from typing import Any

import pytest

from muster.kube.resources import core
from tests.real.namespace import eventually
from tests.real.site import Site

pytestmark = pytest.mark.timeout(400)


@pytest.mark.core
async def test_a_name_used_again_is_another_experiment(here: Site) -> None:
    await here.running()
    here.row.happens("an experiment is deleted and created again under its name at once")
    await here.kubectl("delete", "experiment", "run")
    await here.submit("run", "*: run 3, exit 0")
    await here.says("run", "^Succeeded AllMembersSucceeded")


async def test_a_failed_pod_outside_a_gang_counts_for_nothing(here: Site) -> None:
    await here.running()
    here.row.happens("a stranger's pod with the experiment's labels, but without its owner, fails")
    labels = {**(await here.pods("run"))[0]["metadata"]["labels"]}
    container = {"name": "main", "image": "x", "command": ["sh", "-c", "*: run 1, exit 1"]}
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "stranger", "labels": labels},
        "spec": {
            "restartPolicy": "Never",
            "containers": [container],
            "nodeName": (await here.pods("run"))[0]["spec"]["nodeName"],
            "automountServiceAccountToken": False,
        },
    }
    await here.request("POST", core(here.namespace, "pods"), body)

    async def failed() -> bool:
        pod = await here.get(core(here.namespace, "pods", "stranger"))
        return pod is not None and pod["status"].get("phase") == "Failed"

    await eventually(failed)
    await here.says("run", "^Running")
    assert (await here.client.get("run", namespace=here.namespace)).status.epoch == 0


async def test_a_shared_volume_is_made_and_removed_with_the_experiment(here: Site) -> None:
    here.row.happens("2 members mount a shared volume; rank 0 fails once; the experiment is deleted")
    storage = {"sharedVolume": {"mountPoint": "/data", "sizeGB": 1, "storageClass": "by-hand"}}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"by-hand-{here.namespace}"},
        "spec": {
            "capacity": {"storage": "1G"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "by-hand",
            "hostPath": {"path": "/tmp"},
        },
    }
    await here.submit("run", "rank=0 epoch=0: run 2, exit 1\n*: run 600", members=2, storage=storage)
    await here.says("run", "unbound immediate PersistentVolumeClaims|PersistentVolumeClaim|StorageClass")
    await here.request("POST", "/api/v1/persistentvolumes", volume)
    await here.says("run", "^Running RollComplete 2/2 members are ready", 120)

    async def claims() -> list[dict[str, Any]]:
        found = await here.get(core(here.namespace, "persistentvolumeclaims"))
        items: list[dict[str, Any]] = (found or {}).get("items", [])
        return items

    seen = await here.until("run", lambda seen: seen.status.epoch == 1 and seen.phase == "Running")
    (claim,) = await claims()
    assert claim["spec"]["resources"]["requests"]["storage"] == "1G"
    await here.kubectl("delete", "experiment", "run")
    await eventually(claims, holds=lambda found: not found)
    here.row.says(f"epoch {seen.status.epoch} ran on the same claim, which is gone with the experiment")
