"""Restart, deadline, suspend, cancel and deletion, with the real scheduler and the real garbage collector."""

from typing import Any

import pytest

from muster.api.names import LABEL_EPOCH
from muster.kube.paths import core
from muster.reconcilers.refs import experiment_path
from tests.real.namespace import Refused, eventually
from tests.real.site import Site

pytestmark = pytest.mark.timeout(400)


async def test_a_rank_that_fails_is_one_restart(here: Site) -> None:
    script = "rank=1 epoch=0: hold, exit 1\nepoch=0: run 600\n*: run 4, exit 0"
    await here.submit("run", script, members=4)
    await here.phase("run", "Running")
    here.row.happens("rank 1 of 4 exits 1")
    await here.lets_go("run", 1)
    await here.says("run", r"^Restarting \S+ .*rank 1 \(run-worker-0-1-[a-z0-9]{5}\) exited 1 on node pretended-")
    seen = await here.until("run", lambda seen: seen.finished)
    assert (seen.phase, seen.status.restarts, seen.status.epoch) == ("Succeeded", 1, 1)


async def test_the_budget_of_restarts_ends(here: Site) -> None:
    here.row.happens("rank 0 exits 3 in every epoch, backoffLimit 1")
    policy = {"backoffLimit": 1, "backoff": {"initial": "1s"}}
    await here.submit("run", "rank=0: run 1, exit 3\n*: run 600", restartPolicy=policy)
    await here.says("run", r"^Failed BackoffLimitExceeded .*restart.* used; rank 0 .* exited 3")


async def test_out_of_memory_is_named(here: Site) -> None:
    here.row.happens("rank 1 is killed by the kernel for its memory, backoffLimit 0")
    await here.submit("run", "rank=1: run 1, oom\n*: run 600", restartPolicy={"backoffLimit": 0})
    killed = r"rank 1 .* exited 137 \(as by signal 9, SIGKILL\), OOMKilled"
    await here.says("run", rf"^Failed BackoffLimitExceeded no restarts allowed; {killed}")


async def test_the_total_deadline_ends_it(here: Site) -> None:
    here.row.happens("timeout of 6 s, 2 members that run on")
    await here.submit("run", timeout="6s")
    await here.says("run", "^Failed DeadlineExceeded the experiment did not finish within 6 s")

    async def stopped() -> bool:
        return all(pod["status"]["phase"] not in ("Pending", "Running") for pod in await here.pods("run"))

    await eventually(stopped)


async def test_suspend_takes_the_pods_down_and_resume_starts_anew(here: Site) -> None:
    await here.submit("run", members=3)
    await here.phase("run", "Running")
    here.row.happens("spec.suspend of a running experiment, then resumed")
    await here.change("run", suspend=True)
    await here.says("run", "^Suspended")

    async def none() -> bool:
        return not await here.pods("run")

    await eventually(none)
    suspended = here.row.said
    await here.change("run", suspend=False)
    await here.says("run", "^Running RollComplete 3/3 members are ready")
    here.row.said = f"{suspended}; then: {here.row.said}"
    assert (await here.client.get("run", namespace=here.namespace)).status.restarts == 0
    assert {pod["metadata"]["labels"][LABEL_EPOCH] for pod in await here.pods("run")} == {"1"}


async def test_cancel_ends_it(here: Site) -> None:
    await here.submit("run")
    await here.phase("run", "Running")
    here.row.happens("muster cancel of a running experiment")
    await here.muster("cancel", "run")
    await here.says("run", "^Failed Cancelled")


async def test_deletion_takes_everything_along(here: Site) -> None:
    await here.submit("run", members=20)
    await here.phase("run", "Running")
    here.row.happens("kubectl delete of an experiment of 20 members")
    await here.kubectl("delete", "experiment", "run")

    async def gone() -> bool:
        service = await here.get(core(here.namespace, "services", "run"))
        return service is None and not await here.pods("run")

    await eventually(gone)
    with pytest.raises(Refused, match="does not exist") as answer:
        await here.muster("get", "run")
    here.row.says(f"pods and Service are gone; {answer.value}")


async def test_a_finished_experiment_is_deleted_after_its_ttl(here: Site) -> None:
    here.row.happens("an experiment of 3 members with ttlAfterFinished 5s succeeds")
    await here.submit("run", "*: run 2, exit 0", members=3, ttlAfterFinished="5s")
    await here.says("run", "^Succeeded AllMembersSucceeded")
    path = experiment_path(here.namespace, "run")

    async def gone() -> bool:
        return await here.get(path) is None and not await here.pods("run")

    await eventually(gone)
    here.row.says("it is gone, with its pods and its Service")


async def test_a_name_used_again_is_another_experiment(here: Site) -> None:
    await here.submit("run")
    await here.phase("run", "Running")
    here.row.happens("an experiment is deleted and created again under its name at once")
    await here.kubectl("delete", "experiment", "run")
    await here.submit("run", "*: run 3, exit 0")
    await here.says("run", "^Succeeded AllMembersSucceeded")


async def test_a_failed_pod_outside_a_gang_counts_for_nothing(here: Site) -> None:
    await here.submit("run")
    await here.phase("run", "Running")
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

    async def gone() -> bool:
        return not await claims()

    await eventually(gone)
    here.row.says(f"epoch {seen.status.epoch} ran on the same claim, which is gone with the experiment")
