"""An obstacle to a member's start or work reaches the status, an Event and a metric, and is cleared again."""

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from muster.api.names import LABEL_RANK
from muster.daemon.app import Daemon
from muster.state.facts.causes.table import Causes
from muster.state.facts.diagnosis.classifier import Finding
from muster.state.facts.diagnosis.diagnose import diagnose
from tests.daemon.virtual_daemon import RUN, Cluster, experiment, scraped, seen_by, virtually

SOON = 5.0
"""Seconds within which a sentence must be in the status."""


def waits(cluster: Cluster, rank: int, reason: str, message: str) -> None:
    state = {"name": "main", "ready": False, "state": {"waiting": {"reason": reason, "message": message}}}
    cluster.play(
        rank, phase="Pending", containerStatuses=[state], conditions=[{"type": "PodScheduled", "status": "True"}]
    )


async def one_of_two(cluster: Cluster) -> None:
    """Create an experiment of two ranks. Rank 0 runs."""
    cluster.api.put(RUN, experiment(2))
    await asyncio.sleep(2)
    cluster.start(0)


@virtually
async def test_an_image_typo_is_reported_on_the_experiment_with_an_event_and_a_metric(
    cluster: Cluster, daemon: Daemon
) -> None:
    await one_of_two(cluster)
    waits(cluster, 1, "ErrImagePull", 'image "x:typo": not found')
    await asyncio.sleep(SOON)
    assert cluster.status["reason"] == "ImagePullBackOff"
    assert 'image "x:typo": not found' in cluster.status["message"]
    assert cluster.condition("Stuck")["status"] == "False"
    with capture_logs() as lines:
        await asyncio.sleep(15)
    stuck = cluster.condition("Stuck")
    assert (stuck["status"], stuck["reason"]) == ("True", "ImagePullBackOff")
    (event,) = cluster.events("Stuck")
    assert event["type"] == "Warning"
    (logged,) = (line for line in lines if line.get("reason") == "Stuck")
    uid = cluster.api.objects[RUN]["metadata"]["uid"]
    assert (logged["log_level"], logged["uid"]) == ("warning", uid)
    assert 'reason="ImagePullBackOff"} 1.0' in scraped(daemon)
    cluster.start(1)
    await asyncio.sleep(SOON)
    assert cluster.condition("Stuck")["status"] == "False"
    assert cluster.status["phase"] == "Running"


def unmade(cluster: Cluster, rank: int) -> None:
    """Give the pod a node, and no volumes or no network."""
    said = {"PodScheduled": "True", "PodReadyToStartContainers": "False"}
    state = {"name": "main", "state": {"waiting": {"reason": "ContainerCreating"}}}
    conditions = [{"type": kind, "status": status} for kind, status in said.items()]
    cluster.play(rank, phase="Pending", conditions=conditions, containerStatuses=[state])


def warns(cluster: Cluster, rank: int, reason: str, message: str, **more: Any) -> None:
    """Let the kubelet report the reason in an Event."""
    (about,) = (
        pod["metadata"] for pod in cluster.pods().values() if pod["metadata"]["labels"][LABEL_RANK] == str(rank)
    )
    what = {"kind": "Pod", "name": about["name"], "uid": about["uid"]}
    body = {"type": "Warning", "reason": reason, "message": message, "source": {"component": "kubelet"}, **more}
    path = f"/api/v1/namespaces/team/events/{reason}-{len(cluster.api.objects)}"
    times = {"metadata": {"namespace": "team"}, "lastTimestamp": cluster.api.now()}
    cluster.api.put(path, {"kind": "Event", **times, **body, "involvedObject": what})


def of_rank_one(cluster: Cluster, daemon: Daemon) -> Finding:
    subject = seen_by(daemon)
    return next(each for each in diagnose(subject.at(cluster.wall())) if each.ranks == (1,))


@virtually
async def test_what_a_kubelet_says_of_a_network_is_quoted_and_is_its_cause(cluster: Cluster, daemon: Daemon) -> None:
    await one_of_two(cluster)
    unmade(cluster, 1)
    why = 'Failed to create pod sandbox: plugin type="calico" failed (add): Unauthorized'
    warns(cluster, 1, "FailedCreatePodSandBox", why)
    await asyncio.sleep(50)
    assert not cluster.api.asked("GET /api/v1/namespaces/team/events"), "for a minute it is no news"
    await asyncio.sleep(20)
    (asked,) = cluster.api.asked("GET /api/v1/namespaces/team/events")
    assert asked.params["fieldSelector"].endswith(",type=Warning"), "of that pod alone"
    found = of_rank_one(cluster, daemon)
    assert found.cause is Causes.NETWORK_FAILS
    assert f'(kubelet, 70s ago): "{why}"' in found.evidence
    assert cluster.status["message"].count("gives it no network") == 1
    cluster.start(1)
    await asyncio.sleep(40)
    asked_then = len(cluster.api.asked("GET /api/v1/namespaces/team/events"))
    await asyncio.sleep(120)
    assert len(cluster.api.asked("GET /api/v1/namespaces/team/events")) == asked_then


@pytest.mark.parametrize(
    "missing",
    [
        'secret "creds" not found',
        'configmap "settings" not found',
        "hostPath type check failed: /no/such/directory is not a directory",
    ],
)
@virtually
async def test_what_the_owner_names_and_does_not_exist_is_quoted_and_is_no_fault_of_the_storage(
    cluster: Cluster, daemon: Daemon, missing: str
) -> None:
    await one_of_two(cluster)
    unmade(cluster, 1)
    warns(cluster, 1, "FailedMount", f'MountVolume.SetUp failed for volume "v" : {missing}')
    warns(cluster, 1, "FailedMount", "Unable to attach or mount volumes: unmounted volumes=[v]: timed out")
    await asyncio.sleep(75)
    found = of_rank_one(cluster, daemon)
    assert found.cause is Causes.SANDBOX
    assert missing in found.evidence
