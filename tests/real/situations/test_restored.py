"""etcd is put back to the state of an earlier moment while musterd runs: what becomes of the runs (docs/restore.md)."""

import signal
from collections import Counter
from pathlib import Path

import pytest

from muster.api.names import LABEL_EPOCH, LABEL_EXPERIMENT, LABEL_RANK
from muster.kube.resources import core
from tests.real.etcd import BUMPED, COPIED, Backup, member_of, put_back
from tests.real.namespace import MERGE, Object, eventually
from tests.real.site import Site
from tests.real.stopping import api_server_down, held
from tests.tools.go_tool import ETCDUTL

pytestmark = [pytest.mark.alone, pytest.mark.timeout(600), pytest.mark.usefixtures("our_servers")]
NOTICED = 180.0
"""Seconds: where no number of the past is told from one of the future, a watch without a word lasts 90 s."""

LATER = 3000
"""Writes between the backup and the restoration: resourceVersions that do not come again before that is noticed."""

RUNS = {
    "over": "*: run 0.1, exit 0",
    "same": "*: run 600",
    "ends": "*: hold, exit 0",
    "fails": "rank=1 epoch=0: hold, run 0.1, exit 1\n*: run 600",
    "deleted": "*: run 600",
}


def uids(pods: list[Object], experiment: str) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods if pod["metadata"]["labels"].get(LABEL_EXPERIMENT) == experiment}


def running(pods: list[Object]) -> list[Object]:
    return [pod for pod in pods if pod["status"]["phase"] == "Running"]


async def written(here: Site, times: int) -> None:
    """So many writes to an object that is of no concern to Muster."""
    path = core(here.namespace, "configmaps", "busy")
    await here.request("POST", core(here.namespace, "configmaps"), {"metadata": {"name": "busy"}})
    for number in range(times):
        await here.request("PATCH", path, {"data": {"number": str(number)}}, MERGE)


@pytest.mark.parametrize(
    "way", [pytest.param(COPIED, id="copied back", marks=pytest.mark.core), pytest.param(BUMPED, id="bumped")]
)
async def test_etcd_is_restored_and_each_run_goes_on_from_what_the_backup_says(
    here: Site, tmp_path: Path, way: Backup
) -> None:
    if way is BUMPED:
        ETCDUTL.needed()
    for name, command in RUNS.items():
        await here.submit(name, command)
    await here.phase("over", "Succeeded")
    for name in ("same", "ends", "fails", "deleted"):
        await here.phase(name, "Running")
    before = await here.pods()
    await way.keep(here.ground, tmp_path)
    member = member_of(here.ground)

    for rank in (0, 1):
        await here.lets_go("ends", rank)
    await here.phase("ends", "Succeeded")
    await here.lets_go("fails", 1)
    await here.until("fails", lambda seen: seen.status.epoch == 1 and seen.phase == "Running")
    await here.kubectl("delete", "experiment", "deleted")
    await written(here, LATER)
    await here.submit("later")  # each watch, that of the kubelets too, sees a number that does not come again soon
    await here.phase("later", "Running")

    log = Path(here.ground.folder) / "musterd.log"
    read = log.stat().st_size
    async with api_server_down(here), held(here.ground, "etcd", signal.SIGKILL):
        await put_back(here.ground, way, tmp_path, member)
    bumped = " (etcdutl snapshot restore --bump-revision)" if way is BUMPED else ""
    here.row.happens(f"etcd is put back to what it was before runs ended, failed, began and were deleted{bumped}")

    async def noticed() -> bool:
        return b"resourceVersions went back" in log.read_bytes()[read:]

    await eventually(noticed, NOTICED)
    here.row.says("")
    seen = await here.until("fails", lambda seen: seen.phase == "Running" and seen.status.epoch > 0, NOTICED)
    assert seen.status.restarts == 1, "the kubelet says again that rank 1 has failed"
    assert seen.status.epoch == 2, "pods of an epoch 1 that are out of sight may run"
    assert {pod["metadata"]["labels"][LABEL_EPOCH] for pod in running(await here.pods("fails"))} == {
        str(seen.status.epoch)
    }
    await here.until("ends", lambda seen: seen.phase == "Succeeded", NOTICED)
    for name in ("same", "deleted"):
        await here.until(name, lambda seen: seen.phase == "Running" and seen.status.epoch == 0)
    await here.until("over", lambda seen: seen.phase == "Succeeded")
    assert await here.get(f"/apis/muster.dev/v1alpha1/namespaces/{here.namespace}/experiments/later") is None

    after = await here.pods()
    for name in ("over", "same", "ends", "deleted"):
        assert uids(after, name) == uids(before, name), name
    assert not uids(after, "later")
    ranks = Counter(
        (pod["metadata"]["labels"][LABEL_EXPERIMENT], pod["metadata"]["labels"][LABEL_RANK]) for pod in running(after)
    )
    assert not [one for one, count in ranks.items() if count > 1]
    await here.shows("fails", "Running .* 2/2 ready")
