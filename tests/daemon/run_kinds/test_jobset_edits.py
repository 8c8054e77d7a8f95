"""A JobSet that is edited or deleted while it runs: edits that its webhook allows, and edits that it would refuse."""

import asyncio
import json
from typing import Any

import pytest

from tests.daemon.run_kinds.test_jobsets import NEVER, PATH, PODS, TWO, conditions, fails, pods, running, status
from tests.daemon.run_kinds.world import World, virtually
from tests.daemon.virtual_daemon import edit
from tests.kinds.jobset.jobsets import job

WAITS = "the number of pods changes only while it is suspended"


def said(world: World) -> str:
    """Return the message of the record."""
    message: str = json.loads(status(world)["conditions"][0]["message"])["message"]
    return message


def _edit(world: World, **spec: Any) -> None:
    edit(world.api, PATH, **spec)


async def _suspend_and_resume(world: World) -> None:
    _edit(world, suspend=True)
    await asyncio.sleep(6)
    world.cluster.collect()
    await asyncio.sleep(6)
    assert conditions(world) == ["Suspended True/SuspendedJobs"]
    _edit(world, suspend=False)
    await asyncio.sleep(15)


@virtually
async def test_an_admission_by_kueue_is_no_edit(world: World) -> None:
    """Kueue resumes a JobSet and adds the node selector of the flavor in one patch; a preemption undoes both."""
    await running(world, started=0, suspend=True)
    flavor = {**NEVER, "nodeSelector": {"pool": "standard"}}
    _edit(world, suspend=False, replicatedJobs=[job("worker", job=TWO, pod=flavor)])
    await asyncio.sleep(6)
    world.cluster.start(*range(2))
    await asyncio.sleep(60)
    assert [pod["spec"]["nodeSelector"] for pod in pods(world)] == [{"pool": "standard"}] * 2
    assert "edit" not in said(world)
    _edit(world, suspend=True, replicatedJobs=[job("worker", job=TWO, pod=NEVER)])
    await asyncio.sleep(6)
    assert "edit" not in said(world)
    assert world.cluster.events("EditPending") == []


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("daemon", ["runs", "starts again", "was away"])
@virtually
async def test_an_edit_of_how_many_pods_there_are_waits_until_the_jobset_is_suspended(
    world: World, size: int, daemon: str
) -> None:
    """JobSet's alpha ElasticJobSet adds and removes pods of a Job that runs. A gang is a fixed set of ranks."""
    await running(world)
    before = world.api.named("pods")
    inside = {**TWO, "completions": size, "parallelism": size}
    if daemon == "was away":
        await world.stop()
    _edit(world, replicatedJobs=[job("worker", job=inside, pod=NEVER)])
    if daemon == "starts again":
        await asyncio.sleep(30)
        await world.stop()
    if daemon != "runs":
        await world.daemon("jobsets")
    await asyncio.sleep(60)
    assert (world.api.named("pods"), conditions(world)) == (before, [])
    assert WAITS in said(world)
    await _suspend_and_resume(world)
    assert len(world.api.named("pods")) == size


@virtually
async def test_a_restart_of_the_gang_does_not_end_the_wait_of_an_edit(world: World) -> None:
    await running(world, failurePolicy={"maxRestarts": 3})
    inside = {**TWO, "completions": 3, "parallelism": 3}
    _edit(world, replicatedJobs=[job("worker", job=inside, pod=NEVER)])
    await asyncio.sleep(30)
    await world.stop()
    await world.daemon("jobsets")
    fails(world, 0)
    await asyncio.sleep(6)
    for pod in pods(world):
        if pod["metadata"]["labels"]["muster.dev/epoch"] == "0":  # the kubelet has ended them
            world.api.remove(f"{PODS}/{pod['metadata']['name']}")
    await asyncio.sleep(15)
    made = [pod["metadata"]["labels"] for pod in pods(world)]
    assert [each["muster.dev/epoch"] for each in made] == ["1", "1"]
    assert WAITS in said(world)


@pytest.mark.parametrize("mended", ["by the former name", "suspended"])
@virtually
async def test_a_daemon_that_starts_again_leaves_a_running_jobset_whose_jobs_were_renamed(
    world: World, mended: str
) -> None:
    """If JobSet's webhook is not installed, nothing refuses such an edit.

    No pod can be made for the former name, and the object has the next step.
    """
    await running(world)
    before = world.api.named("pods")
    await world.stop()
    _edit(world, replicatedJobs=[job("others", job=TWO, pod=NEVER)])
    await world.daemon("jobsets")
    await asyncio.sleep(60)
    assert (world.api.named("pods"), conditions(world)) == (before, [])
    why = "spec.replicatedJobs: the run was begun with worker, and these are others; write the former, or suspend it"
    assert said(world).startswith(f"{why}; Muster leaves the pods as they are")
    assert [each["message"] for each in world.cluster.events("InvalidSpec")] == [said(world)]
    written = len(world.written())
    await asyncio.sleep(600)
    assert len(world.written()) == written
    if mended == "suspended":
        await _suspend_and_resume(world)
        assert {pod["metadata"]["labels"]["muster.dev/group"] for pod in pods(world)} == {"others"}
        return
    _edit(world, replicatedJobs=[job("worker", job=TWO, pod=NEVER)])
    await asyncio.sleep(6)
    assert why not in said(world)
    fails(world, 0)
    await asyncio.sleep(6)
    assert conditions(world) == ["Failed True/FailedJobs"]


@virtually
async def test_an_edit_of_the_coordinator_stands_in_pods_that_are_created_from_then_on(world: World) -> None:
    """As under its own controller, whose webhook does not check it."""
    await running(world, coordinator={"replicatedJob": "worker"}, failurePolicy={"maxRestarts": 1})
    _edit(world, coordinator={"replicatedJob": "worker", "podIndex": 1})
    await asyncio.sleep(30)
    assert _coordinators(world) == {"0": "run-worker-0-0.run"}
    fails(world, 0)
    await asyncio.sleep(6)
    world.cluster.collect()
    await asyncio.sleep(15)
    assert _coordinators(world) == {"1": "run-worker-0-1.run"}


def _coordinators(world: World) -> dict[str, str]:
    """Return the coordinator that the pods of each run name."""
    labels = [pod["metadata"]["labels"] for pod in pods(world)]
    return {each["muster.dev/epoch"]: each["jobset.sigs.k8s.io/coordinator"] for each in labels}


@pytest.mark.parametrize("ttl", [5, 600])
@virtually
async def test_an_edit_of_the_ttl_holds_at_once_after_the_end_too(world: World, ttl: int) -> None:
    await running(world, ttlSecondsAfterFinished=120)
    world.cluster.end(0, 1)
    await asyncio.sleep(30)
    _edit(world, ttlSecondsAfterFinished=ttl)
    await asyncio.sleep(10)
    assert (PATH in world.api.objects) == (ttl > 30)
    await asyncio.sleep(120)
    assert (PATH in world.api.objects) == (ttl > 150)


@pytest.mark.parametrize("manager", [None, "jobset.sigs.k8s.io/jobset-controller"])
@virtually
async def test_a_jobset_that_is_taken_from_muster_is_written_no_more(world: World, manager: str | None) -> None:
    """JobSet's webhook refuses an edit of managedBy. Without it the new manager finds pods and status unchanged."""
    await running(world)
    before = world.api.named("pods")
    _edit(world, managedBy=manager)
    await asyncio.sleep(6)
    written = len(world.written())
    fails(world, 0)
    await asyncio.sleep(120)
    assert (len(world.written()), world.api.named("pods"), conditions(world)) == (written, before, [])


@virtually
async def test_a_foreground_deletion_ends_the_pods_and_writes_no_end(world: World) -> None:
    """The API server keeps the JobSet until its dependents are gone (``kubectl delete --cascade=foreground``)."""
    await running(world)
    stored = world.api.objects[PATH]
    deleted = {"deletionTimestamp": world.api.now(), "finalizers": ["foregroundDeletion"]}
    world.api.put(PATH, {**stored, "metadata": {**stored["metadata"], **deleted}})
    await asyncio.sleep(6)
    assert all("deletionTimestamp" in pod["metadata"] for pod in pods(world))
    world.cluster.collect()
    await asyncio.sleep(60)
    assert (world.api.named("pods"), conditions(world)) == ([], [])
    assert "terminalState" not in status(world) or not status(world)["terminalState"]
