"""Jobs, JAXJobs and TrainJobs of their own controllers on a whole daemon."""

import asyncio
from typing import Any

import pytest

from muster.state.vocabulary.record import Phase
from tests.daemon.watched.world import PODS, World, virtually

JOB = "/apis/batch/v1/namespaces/team/jobs/train"
JAXJOB = "/apis/kubeflow.org/v1/namespaces/team/jaxjobs/train"
TRAINJOB = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/team/trainjobs/train"
OBSERVE = {"muster.dev/observe": "yes"}
QUEUE = {"kueue.x-k8s.io/queue-name": "team"}


def job(
    world: World,
    *,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    status: Any = None,
    **spec: Any,
) -> None:
    labels = OBSERVE if labels is None else labels
    metadata = {"namespace": "team", "uid": "job-1", "labels": labels, "annotations": annotations or {}}
    usual = {"completions": 2, "parallelism": 2, "completionMode": "Indexed"}
    world.api.put(JOB, {"kind": "Job", "metadata": metadata, "spec": usual | spec, "status": status or {}})


def pod(world: World, name: str, index: int | str | None, *, uid: str = "job-1", **more: Any) -> None:
    labels = {"batch.kubernetes.io/job-name": "train", "batch.kubernetes.io/controller-uid": uid}
    if index is not None:
        labels["batch.kubernetes.io/job-completion-index"] = str(index)
    owner = {"kind": "Job", "apiVersion": "batch/v1", "name": "train", "uid": uid, "controller": True}
    world.pod(name, labels=labels, ownerReferences=[owner], **more)


def over(kind: str, reason: str) -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": "True", "reason": reason, "message": "its own words"}]}


@virtually
async def test_an_indexed_job_is_followed_to_the_verdict_of_its_controller(world: World) -> None:
    world.serve("jobs")
    await world.daemon("jobs")
    job(world)
    pod(world, "train-0-a", 0)
    pod(world, "train-1-a", 1)
    await asyncio.sleep(2)
    assert world.found("job/train").record.phase is Phase.RUNNING
    world.end("train-1-a", 3)
    await asyncio.sleep(2)
    record = world.found("job/train").record
    assert record.phase is Phase.RUNNING, "only the Job's own controller fails it"
    assert "rank 1 (train-1-a) ended with exit code 3" in record.message
    pod(world, "train-1-b", 1)
    await asyncio.sleep(2)
    assert world.found("job/train").record.message == "2/2 members are ready"
    job(world, status=over("Failed", "BackoffLimitExceeded"))
    await asyncio.sleep(2)
    record = world.found("job/train").record
    assert (record.phase, record.reason, record.message) == (Phase.FAILED, "BackoffLimitExceeded", "its own words")
    assert world.written() == []


@virtually
async def test_pods_without_an_index_take_free_places_and_those_of_failed_ones(world: World) -> None:
    world.serve("jobs")
    await world.daemon("jobs")
    job(world, completionMode="NonIndexed")
    for name in ("train-a", "train-b"):
        pod(world, name, None)
    await asyncio.sleep(2)
    assert world.found("job/train").record.ready == 2
    world.end("train-a", 1)
    await asyncio.sleep(2)
    pod(world, "train-c", None)
    await asyncio.sleep(2)
    members = world.found("job/train").view.of(0).members
    assert sorted(pod.name for pod in members.values()) == ["train-b", "train-c"]
    job(world, completionMode="NonIndexed", status=over("Complete", "CompletionsReached"))
    await asyncio.sleep(2)
    assert world.found("job/train").record.phase is Phase.SUCCEEDED


@virtually
async def test_only_jobs_that_ask_for_it_are_watched_over(world: World) -> None:
    """By a label of their own, or of their pods."""
    world.serve("jobs")
    await world.daemon("jobs")
    job(world, labels={})
    await asyncio.sleep(2)
    assert world.titles() == []
    job(world, labels={}, template={"metadata": {"labels": OBSERVE}})
    await asyncio.sleep(2)
    assert world.titles() == ["job/train"]
    job(world, labels={})
    await asyncio.sleep(2)
    assert world.titles() == []


@virtually
async def test_a_suspended_job_is_said_to_be_and_goes_on_in_its_epoch(world: World) -> None:
    world.serve("jobs")
    await world.daemon("jobs")
    job(world, status=over("Suspended", "JobSuspended"))
    await asyncio.sleep(2)
    assert world.found("job/train").record.phase is Phase.SUSPENDED
    job(world)
    pod(world, "train-0-a", 0)
    await asyncio.sleep(2)
    record = world.found("job/train").record
    assert (record.phase, record.epoch) == (Phase.ASSEMBLING, 0)


@virtually
async def test_a_jaxjob_is_asked_for_its_roll_at_the_port_of_its_container(world: World) -> None:
    world.serve("jaxjobs")
    world.cluster.roll = world.cluster.arrived(0, size=2)
    await world.daemon("jaxjobs", run_kinds="none")
    container = {"name": "jax", "image": "x", "ports": [{"name": "jaxjob-port", "containerPort": 7777}]}
    worker = {"replicas": 2, "template": {"spec": {"containers": [container]}}}
    spec = {"jaxReplicaSpecs": {"Worker": worker}}
    world.api.put(JAXJOB, {"kind": "JAXJob", "metadata": {"namespace": "team", "uid": "j"}, "spec": spec})
    for rank in range(2):
        labels = {"training.kubeflow.org/job-name": "train", "training.kubeflow.org/replica-index": str(rank)}
        owner = {"kind": "JAXJob", "apiVersion": "kubeflow.org/v1", "name": "train", "uid": "j", "controller": True}
        world.pod(f"train-worker-{rank}", labels=labels, ownerReferences=[owner], ip=f"10.0.0.{rank + 1}")
    await asyncio.sleep(12)
    run = world.found("jaxjob/train")
    assert run.plan.coordinator is not None
    assert run.plan.coordinator.port == 7777
    assert run.record.reason == "RanksMissing"
    assert "missing rank 1 (train-worker-1" in run.record.message
    assert world.written() == []


@virtually
async def test_a_trainjob_is_its_jobset_s_pods_and_its_restarts_are_theirs(world: World) -> None:
    world.serve("trainjobs")
    world.serve("jobsets")
    await world.daemon("all")
    spec = {"runtimeRef": {"name": "jax-distributed"}, "trainer": {"numNodes": 2}}
    world.api.put(TRAINJOB, {"kind": "TrainJob", "metadata": {"namespace": "team", "uid": "t"}, "spec": spec})
    owner = {"kind": "TrainJob", "apiVersion": "trainer.kubeflow.org/v1alpha1", "name": "train", "uid": "t"}
    template = {"spec": {"completions": 2, "parallelism": 2}}
    world.api.put(
        "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team/jobsets/train",
        {
            "kind": "JobSet",
            "metadata": {"namespace": "team", "uid": "s", "ownerReferences": [{**owner, "controller": True}]},
            "spec": {"replicatedJobs": [{"name": "node", "template": template}]},
        },
    )
    prefix = "jobset.sigs.k8s.io/"
    for run in range(2):
        for rank in range(2):
            labels = {f"{prefix}jobset-name": "train", f"{prefix}replicatedjob-name": "node"}
            labels |= {f"{prefix}job-index": "0", f"{prefix}restart-attempt": str(run), f"{prefix}jobset-uid": "s"}
            labels |= {"batch.kubernetes.io/job-completion-index": str(rank)}
            world.pod(f"train-{rank}-r{run}", labels=labels)
        await asyncio.sleep(3)
        assert world.titles() == ["trainjob/train"]
        subject = world.found("trainjob/train")
        assert (subject.record.epoch, subject.view.of(run).pods, subject.plan.operator) == (run, 2, "jax")
    status = over("Complete", "JobsCompleted")
    metadata = {"namespace": "team", "uid": "t"}
    world.api.put(TRAINJOB, {"kind": "TrainJob", "metadata": metadata, "spec": spec, "status": status})
    await asyncio.sleep(2)
    assert world.found("trainjob/train").record.phase is Phase.SUCCEEDED


@pytest.mark.parametrize("said", ["scale-down", "suspension", "end"])
@virtually
async def test_pods_that_go_before_their_job_is_seen_to_change_are_no_failures(world: World, said: str) -> None:
    """Two watches deliver events in another order."""
    world.serve("jobs")
    await world.daemon("jobs")
    job(world, completions=3, parallelism=3)
    for index in range(3):
        pod(world, f"train-{index}", index)
    await asyncio.sleep(2)
    assert world.found("job/train").record.phase is Phase.RUNNING
    for index in (1, 2):
        world.api.objects[f"{PODS}/train-{index}"]["metadata"]["deletionTimestamp"] = world.api.now()
        world.end(f"train-{index}", 143)
    await asyncio.sleep(1)
    for index in (1, 2):
        world.api.remove(f"{PODS}/train-{index}")
    await asyncio.sleep(1)
    if said == "scale-down":
        job(world, completions=1, parallelism=1)
    elif said == "suspension":
        job(world, completions=3, parallelism=3, suspend=True, status=over("Suspended", "JobSuspended"))
    else:
        job(world, completions=3, parallelism=3, status=over("Failed", "DeadlineExceeded"))
    await asyncio.sleep(20)
    record = world.found("job/train").record
    wanted = {"scale-down": Phase.RUNNING, "suspension": Phase.SUSPENDED, "end": Phase.FAILED}
    assert record.phase is wanted[said]
    assert "MemberFailed" not in "".join(world.said())


@virtually
async def test_pods_that_somebody_deletes_and_nothing_replaces_are_said_to_be(world: World) -> None:
    world.serve("jobs")
    await world.daemon("jobs")
    job(world)
    pod(world, "train-0", 0)
    pod(world, "train-1", 1)
    await asyncio.sleep(2)
    world.api.objects[f"{PODS}/train-1"]["metadata"]["deletionTimestamp"] = world.api.now()
    world.end("train-1", 143)
    await asyncio.sleep(1)
    world.api.remove(f"{PODS}/train-1")
    await asyncio.sleep(20)
    (said,) = world.cluster.events("MemberFailed")
    assert "rank 1 (train-1) ended with exit code 143" in said["message"]
    assert "the pod was deleted while its gang was at work" in said["message"]


@pytest.mark.parametrize(("labels", "said"), [({}, "suspended"), (QUEUE, "Kueue decides when it continues")])
@virtually
async def test_pods_that_linger_after_a_suspension_are_said_in_one_sentence(
    world: World, labels: dict[str, str], said: str
) -> None:
    world.serve("jobs")
    await world.daemon("jobs")
    job(world, labels=OBSERVE | labels)
    for index in range(2):
        pod(world, f"train-{index}", index)
    await asyncio.sleep(2)
    job(world, labels=OBSERVE | labels, suspend=True, status=over("Suspended", "JobSuspended"))
    await asyncio.sleep(20)
    message = world.found("job/train").record.message
    assert said in message
    assert "; 2 pods still run (first: train-0)" in message
