"""JobSets that Kueue itself suspends and resumes: musterd reads their Workloads and repeats Kueue's words."""

import asyncio
import json
from typing import Any

import pytest

from muster.client import watching
from muster.daemon.settings import Settings
from muster.kube.resources import ResourceClient
from muster.state.vocabulary.subject import JOBSET
from tests.daemon.run_kinds.world import World, virtually
from tests.kinds.jobset.jobsets import jobset

PATH = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team/jobsets/run"
WORKLOAD = "/apis/kueue.x-k8s.io/v1beta2/namespaces/team/workloads/jobset-run-1"
LABELS = {"kueue.x-k8s.io/queue-name": "team-a"}
TOO_BIG = "insufficient quota for cpu in flavor standard, request (6) > maximum capacity (4)"


async def queued(world: World, *, ours: bool, kueue: bool = True) -> None:
    """Create a JobSet with the label of a queue, suspended by Kueue."""
    world.serve(JOBSET)
    await world.start(Settings(run_kinds="jobsets", watch_kinds="jobsets", kueue=kueue))
    made = jobset(name="run", suspend=True)
    if not ours:
        del made["spec"]["managedBy"]
    made["metadata"] = {"name": "run", "namespace": "team", "labels": LABELS}
    world.api.put(PATH, made)
    await asyncio.sleep(6)


def says(world: World, reason: str, message: str) -> None:
    """Let Kueue write why the Workload of the JobSet is not admitted."""
    uid = world.api.objects[PATH]["metadata"]["uid"]
    owner = {"apiVersion": JOBSET.api_version, "kind": "JobSet", "name": "run", "uid": uid, "controller": True}
    labels = {"kueue.x-k8s.io/job-uid": uid}
    metadata = {"name": "jobset-run-1", "namespace": "team", "labels": labels, "ownerReferences": [owner]}
    waits = {"type": "QuotaReserved", "status": "False", "reason": reason, "message": message}
    status: dict[str, Any] = {"conditions": [waits]}
    spec = {"queueName": "team-a", "active": True}
    world.api.put(WORKLOAD, {"kind": "Workload", "metadata": metadata, "spec": spec, "status": status})


def said(world: World) -> tuple[str, str]:
    """Return reason and message, as the page has them."""
    found = world.daemons[-1][0].find("team", "jobset/run")
    assert found is not None
    return found.record.reason, found.record.message


@pytest.mark.parametrize("ours", [True, False])
@virtually
async def test_a_jobset_that_waits_for_quota_says_what_kueue_says(world: World, ours: bool) -> None:
    await queued(world, ours=ours)
    says(world, "Pending", "couldn't assign flavors to pod set worker: insufficient unused quota")
    await asyncio.sleep(6)
    assert said(world) == (
        "Queued",
        "queued in team-a: couldn't assign flavors to pod set worker: insufficient unused quota",
    )
    says(world, "ExceedsMaxQuota", TOO_BIG)
    await asyncio.sleep(6)
    assert said(world) == ("ExceedsMaxQuota", f"queued in team-a: {TOO_BIG}")
    messages = [each["message"] for each in world.cluster.events("Stuck")]
    assert messages == [f"ExceedsMaxQuota: queued in team-a: {TOO_BIG}"]
    written = world.written()
    assert not any("workloads" in request for request in written)
    if ours:
        message = json.loads(world.api.objects[PATH]["status"]["conditions"][0]["message"])["message"]
        assert message == f"queued in team-a: {TOO_BIG}"


@pytest.mark.parametrize("ours", [True, False])
@virtually
async def test_without_the_setting_the_label_says_who_decides(world: World, ours: bool) -> None:
    await queued(world, ours=ours, kueue=False)
    await asyncio.sleep(120)
    assert said(world) == (
        "Suspended", "suspended, and its queue label names team-a: Kueue decides when it continues"
    )  # fmt: skip


@virtually
async def test_a_reader_of_a_watched_jobset_sees_what_kueue_says(world: World) -> None:
    await queued(world, ours=False)
    resources = ResourceClient(world.cluster)
    seen = await watching.get(resources, JOBSET, "team", "jobset/run")
    assert seen.message == "suspended, and its queue label names team-a: Kueue decides when it continues"
    says(world, "Pending", "insufficient unused quota")
    seen = await watching.get(resources, JOBSET, "team", "jobset/run")
    assert (seen.reason, seen.message) == ("Queued", "queued in team-a: insufficient unused quota")


@virtually
async def test_a_workload_that_is_gone_is_reported_no_more(world: World) -> None:
    await queued(world, ours=True)
    says(world, "Pending", "insufficient unused quota")
    await asyncio.sleep(6)
    world.api.remove(WORKLOAD)
    await asyncio.sleep(6)
    assert said(world)[1].startswith("suspended, and its queue label names team-a: Kueue has made no Workload")
