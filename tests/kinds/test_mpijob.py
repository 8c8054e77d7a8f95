"""MPIJobs of Kubeflow's MPI operator: workers that serve, and a launcher with which the job ends."""

import asyncio
from typing import Any

import pytest

from muster.kinds import mpijob as watched
from muster.kinds.declaration import Place, PlanError, PodFacts
from muster.kinds.kubeflow.watched import INDEX, LABEL
from muster.kinds.registry import WATCHED_KINDS
from muster.state.vocabulary.record import Phase
from muster.state.vocabulary.rules import Gate, GateCondition
from tests.daemon.watched.world import World, virtually

KIND = WATCHED_KINDS["mpijobs"]
PATH = "/apis/kubeflow.org/v2beta1/namespaces/team/mpijobs/solve"
REPLICAS = {"Launcher": {}, "Worker": {"replicas": 2}}


def a_job(replicas: Any, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "solve", "namespace": "team", "uid": "u-1"}
    return {"kind": "MPIJob", "metadata": metadata, "spec": {watched.FIELD: replicas, **spec}}


def labels(role: str, **more: str) -> dict[str, str]:
    return {LABEL: "solve", watched.OPERATOR: watched.NAME, watched.ROLE: role, **more}


def facts(name: str, owner: str, given: dict[str, str]) -> PodFacts:
    return PodFacts(name, "team", given, {}, kind=owner, owner="solve", owner_uid="u-1")


def test_the_members_are_the_workers_of_the_host_file_and_then_the_launcher() -> None:
    plan = KIND.plan_of(a_job(REPLICAS))
    assert [(group.name, group.first_rank, group.size) for group in plan.groups] == [
        ("worker", 0, 2),
        ("launcher", 2, 1),
    ]
    assert plan.coordinator is None
    alone = KIND.plan_of(a_job({"Launcher": {}, "Worker": {}}))
    assert alone.size == 1, "the operator makes no workers where their number is absent"


def test_a_launcher_that_waits_for_the_workers_has_a_gate() -> None:
    _, launcher = KIND.plan_of(a_job(REPLICAS, launcherCreationPolicy="WaitForWorkersReady")).groups
    assert launcher.gates == (Gate(GateCondition.READY, "worker"),)
    _, launcher = KIND.plan_of(a_job(REPLICAS, launcherCreationPolicy="AtStartup")).groups
    assert launcher.gates == ()


def test_the_place_of_a_worker_is_the_number_in_its_name() -> None:
    """With ``runLauncherAsWorker`` the index in the label begins at 1."""
    worker = facts("solve-worker-1", "MPIJob", labels("worker", **{INDEX: "2"}))
    assert watched.place_of(worker) == Place("mpijob/solve", "worker", 0, 1, uid="u-1")


def test_the_launcher_is_the_pod_of_a_job_and_takes_the_only_place() -> None:
    launcher = facts("solve-launcher-x7", "Job", labels("launcher"))
    assert watched.place_of(launcher) == Place("mpijob/solve", "launcher", 0, -1)


@pytest.mark.parametrize(
    ("owner", "given"),
    [
        ("PyTorchJob", labels("worker")),
        ("MPIJob", labels("launcher")),
        ("MPIJob", labels("other")),
        ("MPIJob", labels("worker") | {watched.OPERATOR: "mpijob-controller"}),
        ("MPIJob", {}),
    ],
)
def test_pods_of_other_operators_have_no_place(owner: str, given: dict[str, str]) -> None:
    assert watched.place_of(facts("solve-worker-0", owner, given)) is None


@pytest.mark.parametrize("replicas", [None, {"Worker": {}}, {"Launcher": {}, "Worker": {"replicas": 10**9}}])
def test_a_job_without_a_plan_says_why(replicas: Any) -> None:
    with pytest.raises(PlanError, match="mpiReplicaSpecs"):
        KIND.plan_of(a_job(replicas))


@virtually
async def test_a_job_is_followed_from_a_worker_that_is_missing_to_the_end_of_its_launcher(world: World) -> None:
    def launched(world: World, name: str) -> None:
        owner = {"kind": "Job", "apiVersion": "batch/v1", "name": "solve-launcher", "uid": "j", "controller": True}
        world.pod(name, labels=labels("launcher"), ownerReferences=[owner])

    world.serve("mpijobs")
    await world.daemon("mpijobs")
    world.api.put(PATH, a_job(REPLICAS))
    uid = world.api.objects[PATH]["metadata"]["uid"]
    owner = {"kind": "MPIJob", "apiVersion": "kubeflow.org/v2beta1", "name": "solve", "uid": uid, "controller": True}
    world.pod("solve-worker-0", labels=labels("worker", **{INDEX: "0"}), ownerReferences=[owner])
    launched(world, "solve-launcher-a")
    await asyncio.sleep(90)
    run = world.found("mpijob/solve")
    assert run.record.ready == 2
    assert "rank 1" in run.record.message
    world.pod("solve-worker-1", labels=labels("worker", **{INDEX: "1"}), ownerReferences=[owner])
    world.end("solve-launcher-a", 1)
    await asyncio.sleep(2)
    assert "solve-launcher-a) ended with exit code 1" in world.found("mpijob/solve").record.message
    launched(world, "solve-launcher-b")
    await asyncio.sleep(2)
    assert world.found("mpijob/solve").record.message == "3/3 members are ready"
    done = [{"type": "Succeeded", "status": "True", "reason": "MPIJobSucceeded", "message": "solved"}]
    world.api.put(PATH, world.api.objects[PATH] | {"status": {"conditions": done}})
    await asyncio.sleep(2)
    assert world.found("mpijob/solve").record.phase is Phase.SUCCEEDED
    assert world.written() == []
