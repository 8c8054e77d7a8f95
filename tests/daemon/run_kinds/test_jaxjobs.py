"""JAXJobs on a whole daemon: found, run, restarted, ended, and left alone if they are not Muster's."""

import asyncio
import json
from typing import Any

import pytest

from muster.daemon.settings import Settings
from muster.kinds.planning.run_object import TYPE, from_object
from tests.daemon.run_kinds.world import JOB, World, job, virtually
from tests.daemon.virtual_daemon import scraped
from tests.fakes.api import FakeApi

PODS = "/api/v1/namespaces/team/pods"


def pods(api: FakeApi) -> list[str]:
    return [name.rsplit("-", 1)[0] for name in api.named("pods")]


async def running(world: World, size: int = 2, **changes: Any) -> None:
    """Start a JAXJob whose workers all run."""
    world.serve()
    world.cluster.roll = world.cluster.arrived(*range(size), size=size)
    await world.daemon()
    world.api.put(JOB, job(size, **changes))
    await asyncio.sleep(3)
    world.cluster.start(*range(size))
    await asyncio.sleep(6)


@virtually
async def test_a_jaxjob_runs_from_its_file_to_succeeded(world: World) -> None:
    """With the conditions and counts that Kubeflow's operator writes, and the record in front of them."""
    await running(world)
    assert pods(world.api) == ["train-worker-0", "train-worker-1"]
    assert world.api.named("services") == ["train"]
    assert world.conditions == ["Created", "Running"]
    assert world.status["replicaStatuses"]["Worker"]["active"] == 2
    world.cluster.end(0, 1)
    await asyncio.sleep(3)
    assert world.conditions == ["Created", "(Running)", "Succeeded"]
    assert world.condition("Succeeded")["reason"] == "JAXJobSucceeded"
    assert world.status["conditions"][0]["type"] == TYPE
    assert world.status["replicaStatuses"]["Worker"] | {"selector": ""} == {
        "active": 0, "succeeded": 2, "failed": 0, "selector": "",
    }  # fmt: skip
    assert world.status["completionTime"] >= world.status["startTime"]
    about = {each["involvedObject"]["kind"] for each in world.cluster.events()}
    assert about == {"JAXJob"}


@virtually
async def test_a_clean_run_costs_few_writes_and_none_at_rest(world: World) -> None:
    """The design's budget: n + 9 for n pods."""
    await running(world, 8)
    await asyncio.sleep(60)
    before = len(world.written())
    await asyncio.sleep(3600)
    assert len(world.written()) == before, "at rest"
    world.cluster.end(*range(8))
    await asyncio.sleep(3)
    assert world.conditions[-1] == "Succeeded"
    assert len(world.written()) <= 8 + 9
    await asyncio.sleep(3600)
    assert len(world.written()) <= 8 + 9, "a finished job is written no more"


@virtually
async def test_a_kind_whose_crd_is_installed_later_is_found_without_a_restart(world: World) -> None:
    daemon = await world.daemon()
    await asyncio.sleep(300)
    assert daemon.health.unready() == {}
    world.serve()
    world.api.put(JOB, job())
    await asyncio.sleep(65)
    assert pods(world.api) == ["train-worker-0", "train-worker-1"]


@virtually
async def test_a_lost_worker_restarts_the_gang_within_the_budget(world: World) -> None:
    await running(world, run_policy={"backoffLimit": 1})
    first = world.api.named("pods")
    world.crash(1)
    await asyncio.sleep(3)
    assert world.conditions == ["Created", "Restarting"]
    for name in [name for name in world.api.named("pods") if name in first]:
        world.api.remove(f"{PODS}/{name}")
    await asyncio.sleep(15)
    assert pods(world.api) == ["train-worker-0", "train-worker-1"]
    assert not set(world.api.named("pods")) & set(first), "a new epoch has new names"
    world.cluster.start(0, 1)
    await asyncio.sleep(6)
    assert world.conditions == ["Created", "Running"]
    world.crash(0)
    await asyncio.sleep(3)
    assert world.conditions == ["Created", "(Running)", "Failed"]
    failed = world.condition("Failed")
    assert failed["reason"] == "JAXJobFailed"
    assert "has reached the specified backoff limit" in failed["message"]


@pytest.mark.parametrize(("restart", "code", "last"), [
    ("Never", 137, "Failed"), ("ExitCode", 1, "Failed"), ("ExitCode", 137, "Restarting"), ("Always", 1, "Restarting"),
])  # fmt: skip
@virtually
async def test_what_follows_a_failure_is_what_the_restart_policy_says(
    world: World, restart: str, code: int, last: str
) -> None:
    """Never fails at once; ExitCode runs again from 128 on."""
    await running(world, restart=restart)
    world.crash(1, code)
    await asyncio.sleep(3)
    assert world.conditions[-1] == last


@virtually
async def test_the_deadline_holds_at_its_second(world: World) -> None:
    """In Kubeflow it does not (kubeflow/trainer#3358)."""
    await running(world, run_policy={"activeDeadlineSeconds": 100})
    await asyncio.sleep(95)
    failed = world.condition("Failed")
    assert failed["reason"] == "JAXJobFailed"
    assert "active longer than specified deadline" in failed["message"]
    assert not any(world.api.objects[f"{PODS}/{name}"]["status"]["phase"] == "Running"
                   and "activeDeadlineSeconds" not in world.api.objects[f"{PODS}/{name}"]["spec"]
                   for name in world.api.named("pods")), "every program is stopped"  # fmt: skip


@pytest.mark.parametrize("again", [False, True])
@virtually
async def test_an_edit_of_the_replicas_waits_until_the_job_is_suspended(world: World, *, again: bool) -> None:
    """Kubeflow's operator adds a worker at once; the other processes were started for fewer."""
    await running(world)
    before, begun = world.api.named("pods"), world.status["startTime"]
    world.api.put(JOB, {**world.api.objects[JOB], "spec": job(3)["spec"]})
    if again:
        await asyncio.sleep(10)
        await world.stop()
        await world.daemon()
    await asyncio.sleep(60)
    assert (world.api.named("pods"), world.conditions) == (before, ["Created", "Running"])
    record = from_object(world.status)
    assert record is not None
    assert "the number of pods changes only while it is suspended" in record.message
    world.api.put(JOB, {**world.api.objects[JOB], "spec": job(3, run_policy={"suspend": True})["spec"]})
    await asyncio.sleep(3)
    world.cluster.collect()
    await asyncio.sleep(3)
    assert world.conditions == ["Created", "(Running)", "Suspended"]
    world.api.put(JOB, {**world.api.objects[JOB], "spec": job(3)["spec"]})
    await asyncio.sleep(3)
    assert pods(world.api) == [f"train-worker-{rank}" for rank in range(3)]
    assert "(Suspended)" in world.conditions
    assert world.condition("Suspended")["reason"] == "JAXJobResumed"
    assert world.status["startTime"] > begun, "the clock begins again"


@virtually
async def test_clean_pod_policy_all_deletes_the_pods_at_the_end(world: World) -> None:
    """The others keep them for their logs."""
    await running(world, run_policy={"cleanPodPolicy": "All"})
    world.cluster.end(0, 1)
    await asyncio.sleep(3)
    assert world.conditions[-1] == "Succeeded"
    assert pods(world.api) == []
    assert world.status["replicaStatuses"]["Worker"]["succeeded"] == 2


@virtually
async def test_a_finished_job_is_deleted_after_its_ttl(world: World) -> None:
    await running(world, run_policy={"ttlSecondsAfterFinished": 50})
    world.cluster.end(0, 1)
    await asyncio.sleep(45)
    assert world.conditions[-1] == "Succeeded"
    await asyncio.sleep(15)
    assert JOB not in world.api.objects


@pytest.mark.parametrize("found", [
    job(run_policy={"managedBy": "kueue.x-k8s.io/multikueue"}),
    job(conditions=[{"type": "Succeeded", "status": "True"}]),
    job(conditions=[{"type": "Failed", "status": "True"}]),
])  # fmt: skip
@virtually
async def test_an_object_that_is_not_musters_is_never_touched(world: World, found: Any) -> None:
    world.serve()
    daemon = await world.daemon()
    world.api.put(JOB, found)
    await asyncio.sleep(120)
    assert world.written() == []
    assert world.cluster.events() == []
    assert not list(daemon.subjects())


@virtually
async def test_jaxjobs_are_run_only_where_the_setting_says_so(world: World) -> None:
    """By default Kubeflow's operator has them."""
    world.serve()
    await world.daemon("jobsets")
    world.api.put(JOB, job())
    await asyncio.sleep(120)
    assert world.written() == []
    assert not world.api.asked("/jaxjobs")


@virtually
async def test_muster_stands_back_where_another_controller_makes_the_pods(world: World) -> None:
    world.serve()
    stored = world.api.put(JOB, job())
    labels = {"training.kubeflow.org/job-name": "train",
              "training.kubeflow.org/operator-name": "jaxjob-controller"}  # fmt: skip
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "JAXJob", "name": "train", "controller": True,
             "uid": stored["metadata"]["uid"]}  # fmt: skip
    pod = {"kind": "Pod", "metadata": {"namespace": "team", "labels": labels, "ownerReferences": [owner]}}
    world.api.put(f"{PODS}/train-worker-0", pod)
    await world.daemon()
    await asyncio.sleep(60)
    assert world.api.named("pods") == ["train-worker-0"]
    record = from_object(world.status)
    assert record is not None
    assert "was made by another controller" in record.message
    assert "run-kinds" in record.message
    before = len(world.written())
    await asyncio.sleep(3600)
    assert len(world.written()) - before <= 2, "the obstacle becomes Stuck, and nothing more is written"


@virtually
async def test_a_spec_that_cannot_be_run_fails_with_its_reason(world: World) -> None:
    world.serve()
    daemon = await world.daemon()
    world.api.put(JOB, job(run_policy={"schedulingPolicy": {"minAvailable": 2}}))
    await asyncio.sleep(10)
    failed = world.condition("Failed")
    assert failed["reason"] == "InvalidSpec"
    assert "spec.runPolicy.schedulingPolicy" in failed["message"]
    assert [each["reason"] for each in world.cluster.events()] == ["InvalidSpec"]
    assert pods(world.api) == []
    assert 'muster_experiments{operator="_invalid",phase="Failed"} 1.0' in scraped(daemon)
    before = world.written()
    await asyncio.sleep(600)
    assert world.written() == before


@pytest.mark.parametrize("message", ["{", "[]", "x" * 40_000, json.dumps({"phase": "Dreaming"}), 7])
@virtually
async def test_an_object_whose_record_cannot_be_read_is_not_decided_upon(world: World, message: object) -> None:
    """Forgetting an epoch would run two of them at once."""
    world.serve()
    await world.daemon()
    world.api.put(JOB, job(conditions=[{"type": TYPE, "status": "True", "message": message}]))
    await asyncio.sleep(120)
    assert world.written() == []


@virtually
async def test_the_pods_of_a_deleted_job_are_deleted_at_once(world: World) -> None:
    """The garbage collector would do so, slower."""
    await running(world)
    world.api.remove(JOB)
    await asyncio.sleep(3)
    api = world.api
    left = [name for name in api.named("pods") if "deletionTimestamp" not in api.objects[f"{PODS}/{name}"]["metadata"]]
    assert left == []


@pytest.mark.parametrize(("text", "kinds"), [
    ("jobsets", {"jobsets"}), ("none", set()), ("jaxjobs,jobsets", {"jobsets", "jaxjobs"}),
])  # fmt: skip
def test_the_setting_names_the_kinds(text: str, kinds: set[str]) -> None:
    """JobSets that name Muster are run by default."""
    assert Settings(run_kinds=text).run == kinds
    assert Settings().run == {"jobsets"}


@pytest.mark.parametrize("text", ["", "pods", "jobsets,", "jobsets,rayjobs"])
def test_a_kind_that_cannot_be_run_is_refused_at_the_start(text: str) -> None:
    with pytest.raises(ValueError, match="run_kinds"):
        Settings(run_kinds=text)
