"""JobSets on a whole daemon: run from the object to the end, restarted, and left alone if they are not Muster's."""

import asyncio
import json
from typing import Any

import pytest

from muster.api.names import LABEL_UID
from muster.kinds.jobset.spec import PREFIX
from muster.kinds.planning.run_object import TYPE
from muster.state.vocabulary.subject import JOBSET
from tests.daemon.run_kinds.world import World, virtually
from tests.daemon.virtual_daemon import edit
from tests.fakes import objects
from tests.fakes.history import Object
from tests.kinds.jobset.jobsets import job, jobset

PATH = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team/jobsets/run"
PODS = "/api/v1/namespaces/team/pods"
NEVER = {"restartPolicy": "Never"}
TWO = {"completions": 2, "parallelism": 2, "backoffLimit": 0}


async def running(world: World, *jobs: Object, started: int = 2, **spec: Any) -> None:
    """Start a JobSet whose first pods run."""
    world.serve(JOBSET)
    await world.daemon("jobsets")
    made = jobset(*(jobs or (job("worker", job=TWO, pod=NEVER),)), name="run", **spec)
    made["metadata"] = {"name": "run", "namespace": "team"}
    world.api.put(PATH, made)
    await asyncio.sleep(3)
    world.cluster.start(*range(started))
    await asyncio.sleep(6)


def status(world: World) -> Object:
    found: Object = world.api.objects[PATH].get("status") or {}
    return found


def conditions(world: World) -> list[str]:
    """Return each condition but the record, with its status and reason."""
    own = [each for each in status(world).get("conditions", ()) if each["type"] != TYPE]
    return [f"{each['type']} {each['status']}/{each['reason']}" for each in own]


def pods(world: World) -> list[Object]:
    return [world.api.objects[f"{PODS}/{name}"] for name in world.api.named("pods")]


def fails(world: World, rank: int, code: int = 1) -> None:
    """Let the newest pod of a rank fail."""
    _play(world, rank, **objects.ended(code, world.api.now()))


def starts(world: World, rank: int) -> None:
    """Let the newest pod of a rank run and be ready."""
    _play(world, rank, **objects.running(ip=f"10.0.0.{rank + 1}", since=world.api.now()))


def _play(world: World, rank: int, **state: Any) -> None:
    """Play a restart: the pod of the cause is kept for its log, beside the one of the next run."""
    mine = [pod for pod in pods(world) if pod["metadata"]["labels"]["muster.dev/rank"] == str(rank)]
    newest = max(
        mine, key=lambda pod: [int(pod["metadata"]["labels"][f"muster.dev/{each}"]) for each in ("epoch", "attempt")]
    )
    spec = {**newest["spec"], "nodeName": "node"}
    world.api.put(f"{PODS}/{newest['metadata']['name']}", {**newest, "spec": spec, "status": state})


@virtually
async def test_a_jobset_runs_to_its_end_with_names_labels_and_status_of_its_own_controller(world: World) -> None:
    await running(
        world, job("worker", job=TWO, pod=NEVER, labels={"team": "a"}), coordinator={"replicatedJob": "worker"}
    )
    assert [pod["metadata"]["name"][:-6] for pod in pods(world)] == ["run-worker-0-0", "run-worker-0-1"]
    pod = pods(world)[1]
    labels, annotations = pod["metadata"]["labels"], pod["metadata"]["annotations"]
    prefix = PREFIX
    expected = {
        "replicatedjob-name": "worker", "replicatedjob-replicas": "1", "restart-attempt": "0", "job-index": "0",
        "global-replicas": "1", "job-global-index": "0", "group-name": "default", "group-replicas": "1",
        "job-group-index": "0", "coordinator": "run-worker-0-0.run",
    }  # fmt: skip
    assert {key: labels[prefix + key] for key in expected} == expected
    assert {key: annotations[prefix + key] for key in expected} == expected
    assert (labels["team"], labels["job-name"], labels["batch.kubernetes.io/job-completion-index"]) == (
        "a", "run-worker-0", "1",
    )  # fmt: skip
    assert annotations[f"{prefix}jobset-name"] == "run"
    assert f"{prefix}jobset-name" not in labels, "it would call JobSet's webhooks"
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("run-worker-0-1", "run")
    assert pod["spec"]["containers"][0]["env"] == [{"name": "JOB_COMPLETION_INDEX", "value": "1"}]
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("JobSet", "run", True)
    assert status(world)["conditions"][0]["type"] == TYPE
    assert status(world)["replicatedJobsStatus"] == [
        {"name": "worker", "active": 1, "ready": 1, "succeeded": 0, "failed": 0, "suspended": 0}
    ]
    world.cluster.end(0, 1)
    await asyncio.sleep(6)
    assert conditions(world) == ["Completed True/AllJobsCompleted"]
    assert (status(world)["terminalState"], status(world)["restarts"]) == ("Completed", 0)


@virtually
async def test_a_failed_jobset_is_restarted_and_then_fails(world: World) -> None:
    await running(world, failurePolicy={"maxRestarts": 1})
    fails(world, 1, 7)
    await asyncio.sleep(3)
    assert conditions(world) == ["RestartingJobSet True/DefaultFailurePolicy"]
    assert (status(world)["restarts"], status(world)["restartsCountTowardsMax"]) == (1, 1)
    world.cluster.collect()
    await asyncio.sleep(15)
    for rank in range(2):
        starts(world, rank)
    await asyncio.sleep(6)
    assert {pod["metadata"]["labels"]["jobset.sigs.k8s.io/restart-attempt"] for pod in pods(world)} == {"1"}
    assert conditions(world) == ["RestartingJobSet False/JobsReady"]
    fails(world, 1, 7)
    await asyncio.sleep(6)
    assert conditions(world) == ["RestartingJobSet False/JobSetFailed", "Failed True/ReachedMaxRestarts"]
    assert status(world)["terminalState"] == "Failed"
    await asyncio.sleep(6)
    assert [each["reason"] for path, each in world.api.objects.items() if "/events/" in path] == [
        "Started", "Running", "Scheduled", "GangRestart", "Restarted", "Running", "Scheduled", "FailedOnNodeAgain",
        "BackoffLimitExceeded",
    ]  # fmt: skip


@virtually
async def test_a_pod_is_replaced_within_its_run(world: World) -> None:
    await running(world, job("worker", job={**TWO, "backoffLimit": 1}, pod=NEVER))
    fails(world, 1, 7)
    await asyncio.sleep(15)
    names = {
        (pod["metadata"]["labels"]["muster.dev/rank"], pod["metadata"]["labels"]["muster.dev/attempt"])
        for pod in pods(world)
    }
    assert names >= {("0", "0"), ("1", "1")}
    assert status(world)["restarts"] == 0
    assert json.loads(status(world)["conditions"][0]["message"])["epoch"] == 0


@pytest.mark.parametrize("manager", [None, "kueue.x-k8s.io/multikueue", "jobset.sigs.k8s.io/jobset-controller"])
@virtually
async def test_a_jobset_of_another_manager_is_left_alone(world: World, manager: str | None) -> None:
    """Conformance: no jobs while suspended or not, and the status preserved."""
    await running(world, started=0, managedBy=manager)
    await asyncio.sleep(30)
    assert (world.api.named("pods"), world.api.named("services"), status(world)) == ([], [], {})


@virtually
async def test_a_jobset_that_cannot_be_run_says_why(world: World) -> None:
    await running(world, started=0, failurePolicy={"restartStrategy": "InPlaceRestart"})
    assert conditions(world) == ["Failed True/InvalidSpec"]
    assert "InPlaceRestart needs JobSet's agent" in status(world)["conditions"][-1]["message"]
    assert (status(world)["terminalState"], status(world)["restarts"]) == ("Failed", 0)
    assert world.api.named("pods") == []


@virtually
async def test_claims_are_made_before_the_pods_and_owned_unless_they_are_retained(world: World) -> None:
    claim = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
    policies = [
        {"templates": [{"metadata": {"name": "own"}, "spec": claim}]},
        {"templates": [{"metadata": {"name": "kept"}, "spec": claim}], "retentionPolicy": {"whenDeleted": "Retain"}},
    ]
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in ("own", "kept")]
    container = {"name": "main", "image": "i", "volumeMounts": mounts}
    await running(world, job("worker", job=TWO, pod={**NEVER, "containers": [container]}), volumeClaimPolicies=policies)
    made = {
        name: world.api.objects[f"/api/v1/namespaces/team/persistentvolumeclaims/{name}"]
        for name in ("own-run", "kept-run")
    }
    assert all(each["metadata"]["labels"][f"{PREFIX}jobset-name"] == "run" for each in made.values())
    (service,) = world.api.named("services")
    found = world.api.objects[f"/api/v1/namespaces/team/services/{service}"]
    assert (service, found["spec"]["selector"]) == ("run", {LABEL_UID: world.api.objects[PATH]["metadata"]["uid"]})
    assert "ownerReferences" in made["own-run"]["metadata"]
    assert "ownerReferences" not in made["kept-run"]["metadata"]
    volumes = pods(world)[0]["spec"]["volumes"]
    assert [each["persistentVolumeClaim"]["claimName"] for each in volumes] == ["own-run", "kept-run"]


@virtually
async def test_the_claims_of_a_jobset_that_is_created_suspended_are_made_and_its_pods_are_not(world: World) -> None:
    """Conformance: suspended with PVCs. JobSet's controller makes Service, claims and suspended Jobs."""
    claim = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
    container = {"name": "main", "image": "i", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    made = job("worker", job=TWO, pod={**NEVER, "containers": [container]})
    policies = [{"templates": [{"metadata": {"name": "data"}, "spec": claim}]}]
    await running(world, made, started=0, suspend=True, volumeClaimPolicies=policies)
    assert world.api.named("persistentvolumeclaims") == ["data-run"]
    assert (world.api.named("pods"), conditions(world)) == ([], ["Suspended True/SuspendedJobs"])
    edit(world.api, PATH, suspend=False)
    await asyncio.sleep(6)
    assert len(world.api.named("pods")) == 2
    assert world.api.named("persistentvolumeclaims") == ["data-run"], "made once"


@virtually
async def test_a_jobset_is_deleted_its_ttl_after_its_end(world: World) -> None:
    """Conformance: TTL deletes only the one with ttl."""
    await running(world, ttlSecondsAfterFinished=60)
    world.cluster.end(0, 1)
    await asyncio.sleep(30)
    assert PATH in world.api.objects
    await asyncio.sleep(60)
    assert PATH not in world.api.objects
