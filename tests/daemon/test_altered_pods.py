"""No rank runs twice, whatever happens to the labels and the owner references of running pods."""

import asyncio
from collections.abc import Callable

import pytest

from muster.api.names import LABEL_EPOCH, LABEL_RANK, LABEL_UID
from muster.daemon.app import Daemon
from tests.daemon.virtual_daemon import RUN, Cluster, edit, scraped, virtually
from tests.fakes.history import Object

SOON = 3.0
"""Seconds within which it is reported."""
LATER = 100.0
"""Seconds after which a broken gang would long have been restarted."""


def without_label(metadata: Object) -> Object:
    return {**metadata, "labels": {name: value for name, value in metadata["labels"].items() if name != LABEL_UID}}


def with_another_uid(metadata: Object) -> Object:
    return {**metadata, "labels": {**metadata["labels"], LABEL_UID: "another"}}


def without_owner(metadata: Object) -> Object:
    return {**metadata, "ownerReferences": []}


def without_anything(metadata: Object) -> Object:
    return {**metadata, "labels": {}, "ownerReferences": []}


Alteration = Callable[[Object], Object]
ALTERATIONS: dict[Alteration, str] = {
    without_label: f"its label {LABEL_UID} is missing",
    with_another_uid: f"its label {LABEL_UID} is now 'another'",
    without_owner: "its ownerReference is missing",
    without_anything: "its ownerReference is missing",
}


def path_of(cluster: Cluster, rank: int) -> str:
    """Return the path of that rank's pod in epoch 0."""
    return next(
        path
        for path, pod in cluster.pods().items()
        if pod["metadata"]["labels"].get(LABEL_RANK) == str(rank) and pod["metadata"]["labels"][LABEL_EPOCH] == "0"
    )


def alter(cluster: Cluster, path: str, alteration: Alteration) -> None:
    pod = cluster.api.objects[path]
    cluster.api.put(path, {**pod, "metadata": alteration(pod["metadata"])})


def restore(cluster: Cluster, path: str, metadata: Object) -> None:
    pod = cluster.api.objects[path]
    again = {**pod["metadata"], "labels": metadata["labels"], "ownerReferences": metadata["ownerReferences"]}
    cluster.api.put(path, {**pod, "metadata": again})


def epochs(cluster: Cluster) -> set[str]:
    return {pod["metadata"]["labels"].get(LABEL_EPOCH, "altered") for pod in cluster.pods().values()}


@pytest.mark.parametrize("alteration", ALTERATIONS, ids=lambda each: each.__name__)
@virtually
async def test_a_pod_that_was_altered_is_not_lost_and_is_named(
    cluster: Cluster, daemon: Daemon, alteration: Alteration
) -> None:
    await cluster.gang(4)
    path = path_of(cluster, 1)
    before = cluster.api.objects[path]["metadata"]
    alter(cluster, path, alteration)
    await asyncio.sleep(SOON)
    stuck = cluster.condition("Stuck")
    assert (stuck["status"], stuck["reason"]) == ("True", "PodAltered")
    assert f"Pod team/{before['name']} (rank 1) may still run on node node-1" in stuck["message"]
    assert ALTERATIONS[alteration] in stuck["message"]
    assert 'muster_foreign_pods{reason="altered"} 1.0' in scraped(daemon)
    assert 'muster_foreign_pods{reason="identity"} 0.0' in scraped(daemon)
    await asyncio.sleep(LATER)
    assert (cluster.status["epoch"], cluster.status.get("disruptions", 0)) == (0, 0)
    assert len(cluster.api.named("pods")) == 4
    restore(cluster, path, before)
    await asyncio.sleep(SOON)
    assert cluster.condition("Stuck")["status"] == "False"
    assert (cluster.status["phase"], cluster.status["ready"]) == ("Running", "4/4")
    assert 'muster_foreign_pods{reason="altered"} 0.0' in scraped(daemon)


@virtually
async def test_how_an_altered_pod_ended_is_not_reported(cluster: Cluster, daemon: Daemon) -> None:
    await cluster.gang(4)
    alter(cluster, path_of(cluster, 1), without_label)
    await asyncio.sleep(SOON)
    cluster.end(1, code=1)
    await asyncio.sleep(60)
    assert (cluster.status["epoch"], cluster.status["disruptions"]) == (1, 1)
    cause = cluster.status["cause"]
    assert (cause["reason"], cause["rank"]) == ("PodAltered", 1)
    assert "how it ended was not seen" in cause["message"]


@pytest.mark.parametrize("alteration", [without_label, without_owner, without_anything])
@virtually
async def test_no_rank_starts_beside_its_altered_pod_of_the_epoch_before(
    cluster: Cluster, daemon: Daemon, alteration: Alteration
) -> None:
    await cluster.gang(4)
    path = path_of(cluster, 1)
    pod = cluster.api.objects[path]
    cluster.api.put(path, {**pod, "metadata": {**pod["metadata"], "finalizers": ["example.com/slow"]}})
    alter(cluster, path, alteration)
    cluster.end(2, code=1)
    await asyncio.sleep(SOON)
    for rank in (0, 3):
        cluster.api.remove(path_of(cluster, rank))
    await asyncio.sleep(LATER)
    assert cluster.status["epoch"] == 1
    assert cluster.status["restarts"] == 1
    assert "1" not in epochs(cluster)
    assert cluster.api.objects[path]["metadata"]["deletionTimestamp"]
    stuck = cluster.condition("Stuck")
    assert (stuck["status"], stuck["reason"]) == ("True", "PodAltered")
    assert "is being deleted and may still run" in stuck["message"]
    pod = cluster.api.objects[path]
    cluster.api.put(path, {**pod, "metadata": {**pod["metadata"], "finalizers": []}})
    cluster.api.remove(path)
    await asyncio.sleep(60)
    assert epochs(cluster) == {"0", "1"}  # the failed pod is kept
    assert len(cluster.api.named("pods")) == 5


@pytest.mark.parametrize("alteration", [without_label, without_owner, without_anything])
@virtually
async def test_a_pod_that_was_altered_does_not_outlive_its_experiment(
    cluster: Cluster, daemon: Daemon, alteration: Alteration
) -> None:
    await cluster.gang(4)
    path = path_of(cluster, 1)
    alter(cluster, path, alteration)
    await asyncio.sleep(SOON)
    cluster.api.delete(RUN)
    await asyncio.sleep(SOON)
    assert "deletionTimestamp" in cluster.api.objects[path]["metadata"]


@pytest.mark.parametrize("spec", [{"cancel": True}, {"suspend": True}])
@virtually
async def test_a_pod_that_was_altered_ends_with_its_gang(
    cluster: Cluster, daemon: Daemon, spec: dict[str, bool]
) -> None:
    await cluster.gang(4)
    path = path_of(cluster, 1)
    alter(cluster, path, without_label)
    await asyncio.sleep(SOON)
    edit(cluster.api, RUN, **spec)
    await asyncio.sleep(SOON)
    assert "deletionTimestamp" in cluster.api.objects[path]["metadata"]


@virtually
async def test_a_member_does_not_run_again_beside_its_altered_pod(cluster: Cluster, daemon: Daemon) -> None:
    await cluster.gang(4, failurePolicy={"rules": [{"action": "RestartMember"}]})
    path = path_of(cluster, 1)
    alter(cluster, path, without_label)
    await asyncio.sleep(LATER)
    assert cluster.condition("Stuck")["reason"] == "PodAltered"
    assert len(cluster.api.named("pods")) == 4
    cluster.api.remove(path)
    await asyncio.sleep(60)
    pods = [pod["metadata"] for pod in cluster.pods().values()]
    assert sorted(pod["labels"][LABEL_RANK] for pod in pods) == ["0", "1", "2", "3"]
    assert cluster.status["epoch"] == 0


@virtually
async def test_members_that_succeeded_and_were_removed_before_the_deadline_have_succeeded(
    cluster: Cluster, daemon: Daemon
) -> None:
    """A live list may be ahead of the watch: a pod that it lacks is not gone before its last state is known."""
    await cluster.gang(timeout="60s")
    cluster.pods_late_until = cluster.loop.time() + 60
    cluster.end(0, 1)
    cluster.collect()
    await asyncio.sleep(59)  # the deadline has passed
    assert cluster.status["phase"] == "Running"
    await asyncio.sleep(3)
    assert (cluster.status["phase"], cluster.status.get("reason")) == ("Succeeded", "AllMembersSucceeded")
