"""What nodes do to members: no node, no image, a node lost with the real eviction, preemption, drain, scale-down."""

import pytest

from muster.api.names import LABEL_RANK
from muster.kube.resources import core
from tests.real.namespace import MERGE, Object, eventually
from tests.real.site import Site

pytestmark = pytest.mark.timeout(600)


@pytest.mark.core
async def test_an_unschedulable_member_is_reported_in_the_schedulers_words(here: Site) -> None:
    here.row.happens("no node has the label that the members select")
    await here.submit("run", on={"muster.dev/nowhere": "true"}, clocks={"pending": {"after": "12s", "action": "Fail"}})
    await here.says("run", r"^Pending .*ranks? [01].*Unschedulable, 0/\d+ nodes are available")
    await here.says("run", "^Failed PendingDeadlineExceeded only 0/2 members got a node within 12 s")


@pytest.mark.parametrize(
    ("command", "more", "reason", "pattern"),
    [
        pytest.param(
            "",
            {"on": {"muster.dev/nowhere": "true"}},
            "Unschedulable",
            r"^Pending Unschedulable 0/2 members have a node; ranks? [01].*0/\d+ nodes are",
            id="no node has the label that the members select, and no clock runs",
        ),
        pytest.param(
            "*: wait ErrImagePull",
            {},
            "ImagePullBackOff",
            r"^Pending ImagePullBackOff 0/2 programs have started; ranks? [01].*: not found",
            id="the image does not exist",
        ),
        pytest.param(
            "*: wait CreateContainerConfigError",
            {},
            "CreateContainerConfigError",
            r"^Pending CreateContainerConfigError .*ranks? [01].*runAsNonRoot and image will run as",
            id="the container cannot be configured",
        ),
    ],
)
async def test_a_member_that_does_not_start_is_stuck(
    here: Site, request: pytest.FixtureRequest, command: str, more: Object, reason: str, pattern: str
) -> None:
    here.row.happens(request.node.callspec.id)
    await here.submit("run", command, **more)
    await here.is_stuck("run", reason, pattern, 240)  # Muster itself waits for 60 s before it calls most of this Stuck


async def test_why_a_pod_has_no_volume_is_read_in_an_event(here: Site) -> None:
    await here.submit("run", "rank=1: pull 900\n*: run 900")
    pods = await eventually(lambda: here.pods("run"), holds=lambda found: len(found) == 2)
    about = {key: pods[1]["metadata"][key] for key in ("namespace", "name", "uid")}
    event = {"reason": "FailedMount", "type": "Warning", "source": {"component": "kubelet"}}
    event |= {"message": "MountVolume.MountDevice failed for volume data: rpc error: code = Internal"}
    event |= {"metadata": {"name": "run-mount"}, "involvedObject": {"kind": "Pod", **about}}
    here.row.happens("a kubelet writes in an Event that it cannot mount a volume")
    await here.request("POST", core(here.namespace, "events"), event)
    await here.says("run", r"^Assembling \S+ .*rank 1 .*a volume cannot be mounted on node", 240)  # read after a minute


@pytest.mark.core
async def test_a_lost_node_is_a_disruption_and_its_return_lets_the_gang_start(here: Site) -> None:
    taints = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    soon = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 10}  # five minutes by default
    template = {"spec": {"tolerations": [{"key": taint, **soon} for taint in taints]}}
    async with here.node("a", "b", pods=2) as selector:
        await here.running("run", members=4, on=selector, template=template)
        here.row.happens("a node loses its network: NotReady, tainted, its pods evicted by the real controllers")
        await here.cut_off("b")
        await here.says("run", r"^Restarting \S+ .*(DeletionByTaintManager|NodeNotReady|evict)")
        await here.cut_off("b", cut=False)
        seen = await here.phase("run", "Running")
        assert (seen.status.restarts, seen.status.epoch) == (0, 1)


async def test_a_node_that_is_scaled_down_is_a_disruption(here: Site) -> None:
    async with here.node("a", "b", pods=4) as selector:
        await here.running("run", members=4, on=selector)
        node = (await here.pods("run"))[1]["spec"]["nodeName"]
        here.row.happens("a node is deleted, as a scale-down does: its pods are collected by the real pod collector")
        await here.request("DELETE", f"/api/v1/nodes/{node}")
        await here.says("run", rf"^Restarting \S+ .*(DeletionByPodGC|PodDeleted).* on node {node}", 300)
        await here.until("run", lambda seen: seen.phase == "Running" and seen.status.epoch > 0)
        seen = await here.phase("run", "Running")
        assert seen.status.restarts == 0


async def test_a_node_that_is_not_ready_is_named(here: Site) -> None:
    async with here.node("a", "b", pods=2) as selector:
        await here.running("run", members=4, on=selector)
        here.row.happens("a node is NotReady, before its pods are evicted")
        await here.cut_off("b")

        async def not_ready() -> bool:
            node = await here.get(f"/api/v1/nodes/{here.namespace}-b")
            conditions = {each["type"]: each["status"] for each in node["status"]["conditions"]} if node else {}
            return conditions.get("Ready") == "Unknown"

        try:
            await eventually(not_ready)
            there = [rank for rank, pod in enumerate(await here.pods("run")) if pod["spec"]["nodeName"].endswith("-b")]
            named = f"ranks {there[0]}[-,] ?{there[1]}"
            await here.says("run", f"^Running NodeNotReady {named}: node {here.namespace}-b is not ready")
        finally:
            await here.cut_off("b", cut=False)


@pytest.mark.parametrize(
    ("way", "sentence"),
    [
        pytest.param("the eviction API, as kubectl drain uses it", "EvictionByEvictionAPI", marks=pytest.mark.core),
        ("kubectl delete", "deleted"),
    ],
)
async def test_a_pod_that_is_taken_is_a_disruption(here: Site, way: str, sentence: str) -> None:
    await here.running()
    pod = (await here.pods("run"))[1]["metadata"]["name"]
    here.row.happens(f"a pod of a running member is taken by {way}")
    if way == "kubectl delete":
        await here.kubectl("delete", "pod", pod, "--wait=false")
    else:
        names = {"name": pod, "namespace": here.namespace}
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": names}
        await here.request("POST", core(here.namespace, "pods", pod) + "/eviction", eviction)
    await here.says("run", rf"^Restarting \S+ .*rank 1 \({pod}\) .*{sentence}")
    seen = await here.phase("run", "Running")
    assert (seen.status.restarts, seen.status.disruptions, seen.status.epoch) == (0, 1, 1)


@pytest.mark.core
async def test_a_preempted_member_is_a_disruption(here: Site) -> None:
    name = here.namespace
    priority = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": 1000,
    }
    await here.apply(priority)
    async with here.node(pods=2) as selector:
        await here.running("run", on=selector)
        here.row.happens("the scheduler preempts a member for a pod of higher priority")
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "important"},
            "spec": {
                "priorityClassName": name,
                "nodeSelector": selector,
                "tolerations": [{"operator": "Exists"}],
                "containers": [{"name": "main", "image": "b", "command": ["sh", "-c", "*: run 600"]}],
            },
        }
        await here.request("POST", core(here.namespace, "pods"), pod)
        await here.says("run", r"^Restarting \S+ .*PreemptionByScheduler")
        await here.kubectl("delete", "pod", "important", "--wait=false")
        await here.kubectl("delete", "priorityclass", name)
        seen = await here.phase("run", "Running")
        assert (seen.status.restarts, seen.status.epoch) == (0, 1)


async def test_a_finished_rank_whose_pod_is_removed_does_not_run_again(here: Site) -> None:
    await here.submit("run", "rank=1: run 1, exit 0\n*: hold, exit 0")
    finished = None

    async def done() -> bool:
        nonlocal finished
        finished = next((p for p in await here.pods("run") if p["status"].get("phase") == "Succeeded"), None)
        return finished is not None

    await eventually(done)
    assert finished is not None
    assert finished["metadata"]["labels"][LABEL_RANK] == "1"
    here.row.happens("rank 1 has ended well and its pod is removed, while rank 0 works")
    await here.kubectl("delete", "pod", finished["metadata"]["name"])
    await here.never("run", lambda seen: seen.finished or seen.status.epoch > 0, 5)
    await here.lets_go("run", 0)
    seen = await here.until("run", lambda seen: seen.finished or seen.status.epoch > 0)
    assert (seen.phase, seen.status.epoch) == ("Succeeded", 0), seen.message
    await here.says("run", "^Succeeded AllMembersSucceeded all 2 members succeeded")


async def test_a_pod_held_by_a_finalizer_after_its_end_does_not_hold_the_restart(here: Site) -> None:
    await here.running("run", "rank=1 epoch=0: hold, exit 1\n*: run 600")
    pod = (await here.pods("run"))[0]["metadata"]["name"]
    path = core(here.namespace, "pods", pod)
    await here.request("PATCH", path, {"metadata": {"finalizers": ["example.test/hold"]}}, MERGE)
    here.row.happens("a finalizer holds a pod of the old epoch after its process has ended")
    await here.lets_go("run", 1)
    await here.until("run", lambda seen: seen.status.epoch == 1)
    await here.says("run", "^Running RollComplete 2/2 members are ready")
    await here.request("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)
