"""JobSets that Muster runs, and the same ones under JobSet's own controller: the two histories of their status."""

import asyncio
import contextlib
import json
from typing import Any

import msgspec
import pytest

from tests.real.controllers import define
from tests.real.controllers.jobset import JOBSET, JOBSETS, jobset, jobsets_path
from tests.real.namespace import Object, eventually
from tests.real.site import Site
from tests.real.stopping import without_rights

pytestmark = [pytest.mark.alone, pytest.mark.timeout(400), pytest.mark.usefixtures("our_servers")]

OURS, THEIRS = "ours", "their"
END = 240.0
"""Seconds within which a JobSet here has ended, on a busy machine too."""
MUSTER = "muster.dev/muster"
SINCE_0_12 = "RestartingJobSet "
"""A condition that older controllers do not write."""
IN_ORDER: dict[str, Any] = {"startupPolicy": {"startupPolicyOrder": "InOrder"}}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def two(first: str, second: str, replicas: int = 1, **spec: Any) -> Object:
    """A JobSet of two replicated jobs with those scripts. One Job each, where it matters which one is first."""
    made = jobset("", 1, first, restarts=1)
    (job,) = made["spec"]["replicatedJobs"]
    other = jobset("", 1, second)["spec"]["replicatedJobs"][0]
    made["spec"] |= {"replicatedJobs": [{**job, "name": "a"}, {**other, "name": "b", "replicas": replicas}], **spec}
    return made


CASES: dict[str, Object] = {
    "success": two("*: run 3, exit 0", "*: run 2, exit 0", 2),
    "restart and failure": two("*: run 60", "*: run 2, exit 7"),
    "in order": two("*: run 6, exit 0", "*: run 2, exit 0", **IN_ORDER),
    "any": two("*: run 60", "*: run 2, exit 0", successPolicy={"operator": "Any", "targetReplicatedJobs": ["b"]}),
    "rule": two(
        "*: run 60",
        "*: run 2, exit 7",
        failurePolicy={
            "maxRestarts": 3,
            "restartStrategy": "Recreate",
            "rules": [{"name": "over", "action": "FailJobSet", "targetReplicatedJobs": ["b"]}],
        },
    ),
}


def named(manifest: Object, name: str, **spec: Any) -> Object:
    return {**manifest, "metadata": {"name": name}, "spec": {**manifest["spec"], **spec}}


async def history(here: Site, made: Object) -> tuple[list[str], Object]:
    """Every turn of a condition until the end, and the status then. Names are left out of the messages.

    A watch from the creation shows every write; requests one after another would miss the short turns.
    """
    name, version, turns = made["metadata"]["name"], made["metadata"]["resourceVersion"], list[str]()
    params = {"watch": "true", "resourceVersion": version, "fieldSelector": f"metadata.name={name}"}
    watch = here.client.transport.lines(jobsets_path(here.namespace), params=params, silence=END)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(END), watch as lines:
            async for line in lines:
                status = msgspec.json.decode(line, type=dict)["object"].get("status", {})
                for each in status.get("conditions", ()):
                    if "/" not in each["type"]:
                        message = each["message"].replace(name, "NAME")
                        turn = f"{each['type']} {each['status']}/{each['reason']}: {message}"
                        turns += [turn] if turn not in turns else []
                active = sum(row["active"] for row in status.get("replicatedJobsStatus", ()))
                if status.get("terminalState") and not active:
                    return turns, status
    raise AssertionError(f"{name} has not ended within {END:g} s: {turns}")


def counters(status: Object) -> tuple[Any, ...]:
    """What is counted at the end. A Job that the controller deletes with the JobSet's end is not counted by it."""
    rows = {row["name"]: (row["succeeded"], row["failed"]) for row in status["replicatedJobsStatus"]}
    return status["terminalState"], status.get("restarts", 0), status.get("restartsCountTowardsMax", 0), rows


@pytest.mark.parametrize("case", CASES)
async def test_a_jobset_has_the_history_that_its_own_controller_writes(here: Site, case: str) -> None:
    here.row.happens(f"the same JobSet under Muster and under its own controller: {case}")
    async with JOBSET.running(here.ground, here.request):
        manifest = CASES[case]
        our = await here.request("POST", jobsets_path(here.namespace), named(manifest, OURS, managedBy=MUSTER))
        their = await here.request("POST", jobsets_path(here.namespace), named(manifest, THEIRS))
        (ours, our_end), (theirs, their_end) = await asyncio.gather(history(here, our), history(here, their))
        here.row.says(ours[-1])
        if not any(turn.startswith(SINCE_0_12) for turn in theirs):
            ours = [turn for turn in ours if not turn.startswith(SINCE_0_12)]
        assert ours == theirs
        assert counters(our_end) == counters(their_end)
        await here.shows(f"jobset/{OURS}", "Succeeded|Failed|Suspended")


async def test_a_jobset_gets_its_claims_and_is_deleted_its_ttl_after_its_end(here: Site) -> None:
    here.row.happens("a JobSet with a claim, and one that ends and has a ttl; JobSet's controller is not there")
    await define(here.request, JOBSETS)
    with_claim = jobset("claims", 1, "*: run 600")
    (container,) = with_claim["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"]
    container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    policies = [{"templates": [{"metadata": {"name": "data"}, "spec": CLAIM}]}]
    ends = jobset("ends", 2, "*: run 1, exit 0")
    path = jobsets_path(here.namespace)
    await here.request("POST", path, named(with_claim, "claims", managedBy=MUSTER, volumeClaimPolicies=policies))
    await here.request("POST", path, named(ends, "ends", managedBy=MUSTER, ttlSecondsAfterFinished=5))
    core = f"/api/v1/namespaces/{here.namespace}"

    async def claimed() -> bool:
        claim = await here.get(f"{core}/persistentvolumeclaims/data-claims")
        return claim is not None and claim["metadata"]["ownerReferences"][0]["kind"] == "JobSet"

    await eventually(claimed)
    await here.shows("jobset/claims", "Pending .*PersistentVolumeClaims")  # no class here fulfils it
    here.row.says("PersistentVolumeClaim data-claims is made")
    await eventually(lambda: here.get(jobsets_path(here.namespace, "ends")), holds=lambda found: found is None)
    await here.request("DELETE", jobsets_path(here.namespace, "claims"))


async def test_without_the_right_on_finalizers_the_pods_of_a_jobset_are_refused(here: Site) -> None:
    await define(here.request, JOBSETS)
    path = jobsets_path(here.namespace)
    async with without_rights(here, "jobsets/finalizers"):
        here.row.happens("without the right on finalizers of JobSets (OwnerReferencesPermissionEnforcement)")
        await here.request("POST", path, named(jobset("run", 2, "*: run 600"), "run", managedBy=MUSTER))

        async def refused() -> str:
            seen = await here.client.get("jobset/run", namespace=here.namespace)
            return seen.message if "cannot set blockOwnerDeletion" in seen.message else ""

        here.row.says(await eventually(refused))
        await here.shows("jobset/run", "cannot set blockOwnerDeletion")
    await here.all_run(2)
    await here.request("DELETE", jobsets_path(here.namespace, "run"))


async def test_a_jobset_that_a_webhook_stored_and_kueue_admits_runs_as_its_spec_says(here: Site) -> None:
    here.row.happens("a queued JobSet with Go's zero values is admitted by one patch: suspend false and a label")
    await define(here.request, JOBSETS)
    made = jobset("queued", 2, "*: run 2, exit 0")
    (job,) = made["spec"]["replicatedJobs"]
    rule = {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": ""}]}
    job["template"]["spec"]["podFailurePolicy"] = {"rules": [rule]}
    made["spec"]["network"]["subdomain"] = ""
    made = named(made, "queued", managedBy=MUSTER, suspend=True)
    made["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team-a"}
    await here.request("POST", jobsets_path(here.namespace), made)
    await here.shows("jobset/queued", "Suspended .*its queue label names team-a: Kueue decides when it continues")
    stored: Any = await here.get(jobsets_path(here.namespace, "queued"))
    template = stored["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    template["metadata"] = {"labels": {"kueue.x-k8s.io/podset": "w"}}
    admitted = {"suspend": False, "replicatedJobs": stored["spec"]["replicatedJobs"]}
    await here.kubectl(
        "patch", "jobsets.jobset.x-k8s.io", "queued", "--type", "merge", "--patch", json.dumps({"spec": admitted})
    )

    async def ended() -> str:
        status = (await here.get(jobsets_path(here.namespace, "queued")) or {}).get("status", {})
        return str(status.get("terminalState") or "")

    assert await eventually(ended, END) == "Completed"
    events = await here.request("GET", f"/api/v1/namespaces/{here.namespace}/events")
    reasons = [each["reason"] for each in events["items"] if each["involvedObject"]["name"] == "queued"]
    assert "EditPending" not in reasons
    here.row.says(", ".join(dict.fromkeys(reasons)))
    await here.request("DELETE", jobsets_path(here.namespace, "queued"))
