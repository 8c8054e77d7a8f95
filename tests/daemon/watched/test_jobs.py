"""Jobs, JAXJobs and TrainJobs of their own controllers on a whole daemon."""

import asyncio
from typing import Any

from muster.state.vocabulary.record import Phase
from tests.daemon.watched.world import World, virtually

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
    await world.watches("jobs")
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


@virtually
async def test_only_jobs_that_ask_for_it_are_watched_over(world: World) -> None:
    """By a label of their own, or of their pods."""
    await world.watches("jobs")
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
