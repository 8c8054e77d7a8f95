"""What others do to an experiment's objects: policies that change pods, strangers' pods, finalizers."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from muster.api.names import API_VERSION, KIND, LABEL_EPOCH, LABEL_RANK, LABEL_UID
from muster.kube.resources import core
from tests.real.diagnosing import EXPERIMENTS, entitled
from tests.real.namespace import Object, eventually, trial
from tests.real.site import Site

pytestmark = pytest.mark.timeout(400)
POLICIES = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"


@contextlib.asynccontextmanager
async def mutation(here: Site, expression: str) -> AsyncIterator[None]:
    """A MutatingAdmissionPolicy for the creation of the namespace's pods; returns when it is in force."""
    name = here.namespace
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {"resourceRules": rules},
        "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}],
    }
    selector = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}
    await here.request("POST", POLICIES, {"metadata": {"name": name}, "spec": spec})
    binding = {"metadata": {"name": name}, "spec": {"policyName": name, "matchResources": selector}}
    await here.request("POST", f"{POLICIES[:-3]}ybindings", binding)

    async def in_force() -> bool:
        made = await here.request("POST", core(name, "pods"), trial(), params={"dryRun": "All"})
        return "app.kubernetes.io/managed-by" in made["metadata"].get("labels", {}) or changed(made)

    def changed(made: Object) -> bool:
        return len(made["spec"]["containers"]) > 1 or bool(made["spec"].get("schedulingGates"))

    try:
        await eventually(in_force)
        yield
    finally:
        await here.request("DELETE", f"{POLICIES[:-3]}ybindings/{name}")
        await here.request("DELETE", f"{POLICIES}/{name}")


async def test_an_injected_container_that_runs_on_does_not_keep_a_member_running(here: Site) -> None:
    proxy = 'Object{spec: Object.spec{containers: [Object.spec.containers{name: "istio-proxy", image: "proxy:1"}]}}'
    async with mutation(here, proxy):
        here.row.happens("a policy injects a container that runs on after main has ended with exit code 0")
        await here.submit("run", "*: run 2, exit 0")
        await here.says("run", "^Succeeded AllMembersSucceeded")


async def test_a_policy_that_rewrites_managed_by_does_no_harm(here: Site) -> None:
    label = 'Object{metadata: Object.metadata{labels: {"app.kubernetes.io/managed-by": "platform"}}}'
    async with mutation(here, label):
        here.row.happens("a policy rewrites the label app.kubernetes.io/managed-by of every pod")
        await here.submit("run")
        await here.says("run", "^Running RollComplete 2/2")


async def test_a_pod_whose_label_was_removed_is_named_and_no_rank_runs_twice(here: Site) -> None:
    await here.running()
    metadata = (await here.pods("run"))[1]["metadata"]
    here.row.happens("kubectl label removes the uid from the pod of rank 1, whose program runs on")
    await here.kubectl("label", "pod", metadata["name"], f"{LABEL_UID}-")
    await here.says("run", rf"^Running PodAltered Pod \S+/{metadata['name']} \(rank 1\) may still run .* is missing")
    await here.never("run", lambda seen: seen.status.epoch > 0, 10)
    assert len(await here.pods("run")) == 2
    await here.kubectl("label", "pod", metadata["name"], f"{LABEL_UID}={metadata['labels'][LABEL_UID]}")
    await here.says("run", "^Running RollComplete 2/2")


@pytest.mark.core
async def test_a_pod_without_its_owner_reference_goes_with_its_experiment(here: Site) -> None:
    await here.running()
    name = (await here.pods("run"))[1]["metadata"]["name"]
    here.row.happens("kubectl patch removes the ownerReference of rank 1's pod, and the experiment is deleted then")
    removal = '[{"op": "remove", "path": "/metadata/ownerReferences"}]'
    await here.kubectl("patch", "pod", name, "--type=json", "-p", removal)
    await here.says("run", rf"^Running PodAltered Pod \S+/{name} .* its ownerReference is missing")
    assert len(await here.pods("run")) == 2
    await here.kubectl("delete", "experiment", "run", "--wait=false")
    await here.emptied("run")


async def test_no_clock_runs_while_a_gate_is_on_the_pods(here: Site) -> None:
    gate = 'Object{spec: Object.spec{schedulingGates: [Object.spec.schedulingGates{name: "example.test/queue"}]}}'
    async with mutation(here, gate):
        here.row.happens("a queue puts a scheduling gate on every pod; pending clock of 6 s")
        await here.submit("run", clocks={"pending": {"after": "6s", "action": "Fail"}})
        await here.says("run", r"^Pending Queued queued: 2/2 pods are gated by example\.test/queue \(SchedulingGated\)")
        await here.never("run", lambda seen: seen.finished, 12)


async def test_pods_of_another_namespace_decide_nothing(here: Site) -> None:
    await here.running()
    owner = await here.client.get("run", namespace=here.namespace)
    other = f"{here.namespace}-forger"
    await here.request("POST", "/api/v1/namespaces", {"metadata": {"name": other}})
    here.row.happens("a tenant's pods with a foreign experiment's owner and labels exit 0 in another namespace")
    try:
        for pod in await here.pods("run"):
            reference = {"apiVersion": API_VERSION, "kind": KIND, "name": "run", "uid": owner.uid, "controller": True}
            container = {"name": "main", "image": "x", "command": ["sh", "-c", "*: run 0, exit 0"]}
            metadata = {
                "name": f"forged-{pod['metadata']['labels'][LABEL_RANK]}",
                "labels": pod["metadata"]["labels"],
                "ownerReferences": [reference],
                "finalizers": ["example.test/hold"],
            }
            spec = {
                "restartPolicy": "Never",
                "containers": [container],
                "nodeName": pod["spec"]["nodeName"],
                "automountServiceAccountToken": False,
                "serviceAccountName": "default",
                "tolerations": [{"operator": "Exists"}],
            }
            await eventually(lambda: here.get(core(other, "serviceaccounts", "default")))
            await here.request("POST", core(other, "pods"), {"metadata": metadata, "spec": spec})
        await here.never("run", lambda seen: seen.finished or seen.status.epoch > 0, 10)
        await here.says("run", "^Running RollComplete 2/2 members are ready")
    finally:
        merge = "application/merge-patch+json"
        for number in (0, 1):
            with contextlib.suppress(Exception):
                path = core(other, "pods", f"forged-{number}")
                await here.request("PATCH", path, {"metadata": {"finalizers": None}}, merge)
        await here.request("DELETE", f"/api/v1/namespaces/{other}")


@pytest.mark.core
async def test_the_gang_ends_while_a_finalizer_holds_its_deleted_experiment(here: Site) -> None:
    await here.running("run", metadata={"finalizers": ["example.test/hold"]})
    here.row.happens("an experiment with a stranger's finalizer is deleted")
    await here.kubectl("delete", "experiment", "run", "--wait=false")

    try:
        await here.emptied("run")
        await here.says("run", "^Running Deleting being deleted; held by the finalizer example.test/hold")
    finally:
        await here.kubectl("patch", "experiment", "run", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')


async def test_disruptions_without_end_are_stuck(here: Site) -> None:
    here.row.happens("every epoch is evicted after 1 s")
    await here.submit("run", "*: run 1, evicted", restartPolicy={"backoffLimit": 0})
    try:
        await here.is_stuck(
            "run", "DisruptionLoop", "DisruptionLoop [3-9] disruptions in a row.*the last restart: rank [01] "
        )
    finally:
        await here.muster("cancel", "run")


async def test_resume_waits_for_its_own_pods_before_the_pending_clock_runs(here: Site) -> None:
    grace = {"terminationGracePeriodSeconds": 40}
    clocks = {"pending": {"after": "15s", "action": "Fail"}}
    await here.running("run", "epoch=0: run 600, gone 25\n*: run 600", clocks=clocks, gracefulTermination=grace)
    here.row.happens("suspended and resumed at once, pods take 25 s to end, pending clock of 15 s")
    await here.change("run", suspend=True)
    await here.phase("run", "Suspended")
    await here.change("run", suspend=False)
    seen = await here.until("run", lambda seen: seen.finished or (seen.phase == "Running" and seen.status.epoch > 0))
    assert seen.phase == "Running", seen.message
    await here.says("run", "^Running RollComplete 2/2 members are ready")


async def test_pods_stay_for_their_logs_after_a_deadline(here: Site) -> None:
    await here.running()
    await here.change("run", timeout="20s")
    here.row.happens("timeout of 20 s: what is left for `muster logs`")
    await here.says("run", "^Failed DeadlineExceeded the experiment did not finish within 20 s")
    await eventually(
        lambda: here.pods("run"), holds=lambda found: all(pod["status"]["phase"] == "Failed" for pod in found)
    )
    await asyncio.sleep(2)
    left = await here.pods("run")
    here.row.said += f"; {len(left)} of 2 pods exist"
    assert [pod["metadata"]["labels"][LABEL_EPOCH] for pod in left] == ["0", "0"]


@pytest.mark.core
async def test_a_reader_of_experiments_sees_what_he_may(here: Site) -> None:
    await here.running()
    await entitled(here, "reader", EXPERIMENTS)
    config = await here.account("reader")
    here.row.happens("muster get NAME by somebody who may read experiments but not pods")
    shown = await here.muster("get", "run", config=config)
    here.row.says(" ".join(shown.split()))
    assert "Running" in shown
    assert "the members may not be read" in shown
