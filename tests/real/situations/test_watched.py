"""Jobs of the real Job controller, watched over by a musterd of the chart, with the rights of watch.kinds alone."""

from typing import Any

import pytest

from tests.deploy.chart.release import Release
from tests.e2e.test_watched_pods import labelled_pods
from tests.real.controllers import define
from tests.real.controllers.jobset import API, JOBSETS, jobset, jobsets_path
from tests.real.ground import STAND_IN, TOLERATIONS
from tests.real.namespace import MERGE, Object, eventually
from tests.real.site import PROCESSES, Site

pytestmark = [pytest.mark.alone, pytest.mark.timeout(600), pytest.mark.usefixtures("our_servers")]
KEEPS = "example.org/keeps"
"""A finalizer that no one removes."""
JOBS = "/apis/batch/v1/namespaces/{}/jobs"


def job(name: str, command: str, *, limit: int = 3, **annotations: str) -> Object:
    """An Indexed Job of two pretended members, with the label."""
    container = {"name": "main", "image": "registry.example/train:1", "command": [command]}
    pod = {
        "restartPolicy": "Never",
        "nodeSelector": dict(STAND_IN),
        "tolerations": TOLERATIONS,
        "containers": [container],
    }
    stated = {f"muster.dev/{key.replace('_', '-')}": text for key, text in annotations.items()}
    spec = {"completions": 2, "parallelism": 2, "completionMode": "Indexed", "backoffLimit": limit}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {"muster.dev/observe": name}, "annotations": stated},
        "spec": {**spec, "template": {"spec": pod}},
    }


async def said(here: Site, name: str, reason: str, kind: str = "Job") -> str:
    """The message of the Event that musterd writes about the object with that reason."""

    async def found() -> str:
        listed = await here.request("GET", f"/api/v1/namespaces/{here.namespace}/events")
        about = [each for each in listed["items"] if each["involvedObject"]["name"] == name]
        about = [each for each in about if each["involvedObject"]["kind"] == kind and each["reason"] == reason]
        ours = [each["message"] for each in about if each.get("reportingComponent") == "muster"]
        return str(ours[0]) if ours else ""

    return str(await eventually(found))


@pytest.mark.core
async def test_jobs_of_the_real_controller_are_watched_over_and_only_the_one_that_asks_is_ended(
    here: Site, ours: Release
) -> None:
    here.row.happens("three labelled Jobs: one runs, one's members exit 7, one asks to be suspended after 20 s")
    await ours.install("--set", "watch.kinds=jobs,watch.deadlines=true")
    path = JOBS.format(here.namespace)
    async with ours.musterd() as musterd:
        await musterd.until_leading()
        for body in (
            job("steady", "*: run 600"),
            job("broken", "*: run 3, exit 7", limit=0),
            job("late", "*: run 600", total_deadline="20s", on_deadline="suspend"),
        ):
            await here.request("POST", path, body)
        assert await said(here, "steady", "Running") == "2/2 members are ready"
        assert "ended with exit code 7" in await said(here, "broken", "MemberFailed")
        assert "Job has reached the specified backoff limit" in await said(here, "broken", "BackoffLimitExceeded")
        assert "within 20 s" in await said(here, "late", "DeadlineExceeded")
        await said(here, "late", "Suspended")
        late: Any = await here.get(f"{path}/late")
        assert late["spec"]["suspend"] is True
        steady: Any = await here.get(f"{path}/steady")
        assert steady["metadata"]["labels"] == {"muster.dev/observe": "steady"}
        managers = {each["manager"] for each in steady["metadata"]["managedFields"] if "musterd" in each["manager"]}
        assert managers == set()
        await here.shows("job/broken", "Failed .*backoff limit")
        assert musterd.refused() == []
        here.row.says(
            "2/2 ready; a member ended with exit code 7, then its own BackoffLimitExceeded; suspended within 20 s"
        )


async def orphaned(here: Site, name: str, command: str, finalizers: list[str]) -> None:
    """A JobSet whose controller is away, and the Job that this had made for it."""
    made = jobset(name, 2, command)
    made["metadata"]["finalizers"] = finalizers
    owner = await here.request("POST", jobsets_path(here.namespace), made)
    uid, prefix = owner["metadata"]["uid"], "jobset.sigs.k8s.io/"
    labels = {f"{prefix}jobset-name": name, f"{prefix}jobset-uid": uid, f"{prefix}job-index": "0"}
    labels |= {f"{prefix}replicatedjob-name": made["spec"]["replicatedJobs"][0]["name"]}
    child = job(f"{name}-0", command)
    child["metadata"] = {"name": f"{name}-0"}
    reference = {"apiVersion": API, "kind": "JobSet", "name": name, "uid": uid, "controller": True}
    child["metadata"]["ownerReferences"] = [{**reference, "blockOwnerDeletion": True}]
    child["spec"]["template"]["metadata"] = {"labels": labels}
    await here.request("POST", JOBS.format(here.namespace), child)


async def test_a_jobset_whose_controller_is_away_is_not_ready_when_its_members_have_ended_or_are_gone(
    here: Site, ours: Release
) -> None:
    here.row.happens("two JobSets without a controller: members of one succeed, the other is deleted and held")
    await define(here.request, JOBSETS)
    await ours.install("--set", "watch.kinds=jobsets")
    async with ours.musterd() as musterd:
        await musterd.until_leading()
        await orphaned(here, "away", "*: run 3, exit 0", [])
        await orphaned(here, "held", "*: run 600", [KEEPS])
        held = f"{jobsets_path(here.namespace)}/held"
        try:
            assert await said(here, "held", "Running", "JobSet") == "2/2 members are ready"
            await here.request("DELETE", held, {"kind": "DeleteOptions", "propagationPolicy": "Foreground"})
            await here.shows("jobset/held", f"being deleted; held by the finalizers? .*{KEEPS}")
            away = "all 2 members have succeeded; the status of the JobSet does not show it"
            assert away in await said(here, "away", "Stuck", "JobSet")
            await here.shows("jobset/away", f"jobset/away Running .*{away}")
            gone = "it was deleted before its end; being deleted; held by the finalizer example.org/keeps; no pod runs"
            assert gone in await said(here, "held", "Deleted", "JobSet")
            await here.shows("jobset/held", f"jobset/held Failed .*{gone}")
        finally:
            await here.request("PATCH", held, {"metadata": {"finalizers": None}}, MERGE)
        assert musterd.refused() == []
        here.row.says(f"{away}; {gone} any more")


async def test_the_jax_process_that_does_not_call_is_named_among_pods_that_no_experiment_made(
    here: Site, ours: Release
) -> None:
    here.row.happens("three labelled pods of the demo: two JAX processes meet, rank 2 never calls")
    await ours.install("--set", "watch.kinds=pods")
    async with ours.musterd() as musterd:
        await musterd.until_leading()
        made = labelled_pods()
        pods = [made.pod(rank) for rank in range(made.SIZE)]
        for pod in pods:
            pod["spec"] |= {"nodeSelector": PROCESSES, "tolerations": TOLERATIONS}
        await here.apply(made.service(), *pods)
        await here.shows("pods/swarm", r"2/3 ranks arrived[,;] missing rank 2 \(swarm-2", 240)
        here.row.says(" ".join((await here.muster("get", "pods/swarm")).split()))
        assert musterd.refused() == []
