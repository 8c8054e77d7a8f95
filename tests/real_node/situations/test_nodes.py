"""What nodes do to members: machines of a situation's own, whose kubelets are stopped, cut off, full, or lost."""

import asyncio
import signal

import pytest

from tests.real.namespace import SLOW, Object
from tests.real_node.site import Site, python
from tests.real_node.situations.test_cannot_start import volume

pytestmark = pytest.mark.timeout(600)
SOON = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
TOLERATIONS = [{"key": f"node.kubernetes.io/{each}", **SOON} for each in ("not-ready", "unreachable")]
TEMPLATE = {"spec": {"tolerations": TOLERATIONS}}
"""Five minutes by default."""
GRACE = {"gracefulTermination": {"terminationGracePeriodSeconds": 2}}


async def test_a_kubelet_that_is_stopped_and_comes_back(here: Site) -> None:
    async with here.machines(2) as (_, other):
        await here.running("run", on=here.own, **spread())
        here.row.happens("a kubelet is stopped (SIGSTOP): its node is NotReady, its pods are evicted; it comes back")
        with other.frozen("kubelet"):
            await here.says("run", rf"^Restarting \S+ .*on node {other.plan.name}", SLOW)
        await here.goes_on()


@pytest.mark.alone
async def test_a_node_that_is_killed_for_good_is_given_up_by_the_force_clock(here: Site) -> None:
    async with here.machines(2) as (_, other):
        clock = {"terminating": {"after": "15s", "action": "Restart"}}
        await here.running("run", on=here.own, clocks=clock, **spread())
        here.row.happens("a node loses its power for good: the clock `terminating` deletes its pods by force")
        await asyncio.to_thread(other.power_off)
        await here.says("run", rf"^Restarting \S+ .*on node {other.plan.name}", SLOW)
        await here.goes_on(seconds=240)


async def test_a_node_that_loses_its_network_comes_back(here: Site) -> None:
    async with here.machines(2) as (_, other):
        await here.running("run", on=here.own, **spread())
        here.row.happens("a node's network is cut, and comes back")
        with other.cut_off():
            await here.says("run", rf"^Restarting \S+ .*on node {other.plan.name}", SLOW)
        await here.goes_on()


@pytest.mark.alone
async def test_a_node_that_loses_power_for_a_moment(here: Site) -> None:
    async with here.machines(2) as (_, other):
        await here.running("run", on=here.own, **spread())
        here.row.happens("a node loses its power and starts again at once: its containers are gone (exit 255)")
        await asyncio.to_thread(other.power_off)
        await asyncio.to_thread(other.start)
        await here.says("run", rf"^Restarting \S+ .*on node {other.plan.name}", SLOW)
        await here.goes_on()


@pytest.mark.core
async def test_a_kubelet_that_is_started_again_disturbs_nothing(here: Site) -> None:
    async with here.machines(1) as (one,):
        await here.running("run", on=here.own)
        here.row.happens("a kubelet ends and is started again; so does containerd")
        one.signal("kubelet", signal.SIGTERM)
        await asyncio.sleep(8)
        one.signal("containerd", signal.SIGTERM)
        await here.never("run", lambda seen: seen.status.epoch > 0 or seen.phase not in ("Running",), 15)
        here.row.says("Running RollComplete 2/2 members are ready")


async def test_a_runtime_that_does_not_answer(here: Site) -> None:
    async with here.machines(2) as (_, other):
        await here.running("run", on=here.own, **spread())
        here.row.happens("containerd does not answer (SIGSTOP): the kubelet calls its node NotReady")
        with other.frozen("containerd"):
            await here.says(
                "run", rf"(node {other.plan.name} is not ready|^Restarting .*on node {other.plan.name})", 300
            )
        here.charges(await here.until("run", lambda seen: seen.phase == "Running"), False)


async def test_memory_pressure_evicts(here: Site) -> None:
    """The machine's memory is 1 GiB. What takes it is critical to the node, so the kubelet evicts members."""
    take = f"exec {python('b = bytes(1) * (800 << 20); import time; time.sleep(600)')}"
    async with here.machines(1, memory=1 << 30, kubelet={"evictionHard": {"memory.available": "300Mi"}}):
        await here.running("run", on=here.own)
        here.row.happens("a node has too little memory: the kubelet evicts members")
        await here.pod("hog", take, nodeSelector=here.own, priorityClassName="system-node-critical")
        await here.says("run", r"^Restarting \S+ .*low on resource: memory", SLOW)
        seen = await here.until("run", lambda seen: seen.status.epoch > 0)  # the hog stays, so it may be evicted again
        here.charges(seen, False)


async def test_disk_pressure_evicts(here: Site) -> None:
    """The kubelet's disk has 128 MiB."""
    evict = {"evictionHard": {"nodefs.available": "30%", "imagefs.available": "1%", "memory.available": "50Mi"}}
    async with here.machines(1, disk=128 << 20, kubelet=evict):
        fill = "dd if=/dev/zero of=/data/file bs=1M count=110; sleep 600"
        here.row.happens("a node's disk is full: the kubelet evicts the pod that takes most")
        command = f'[ "$MUSTER_RANK$MUSTER_EPOCH" != 10 ] || {{ {fill}\n}}\nsleep 600'
        await here.submit("run", command, on=here.own, **volume(emptyDir={}))
        await here.says("run", r"^Restarting \S+ .*rank 1 .*low on resource: ephemeral-storage", SLOW)
        await here.goes_on()


@pytest.mark.core
async def test_drain_is_a_disruption(here: Site) -> None:
    async with here.machines(2) as (_, other):
        await here.running("run", on=here.own, **spread())
        here.row.happens("kubectl drain of a node")
        options = ("--force", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=100s")
        draining = asyncio.create_task(here.kubectl("drain", other.plan.name, *options), name="drain")
        await here.says("run", r"^(Restarting|Starting|Pending) .*(EvictionByEvictionAPI|evict)", SLOW)
        await draining
        seen = await here.until("run", lambda seen: seen.status.epoch > 0)
        here.charges(seen, False)


async def test_a_budget_of_disruptions_holds_a_drain_back(here: Site) -> None:
    async with here.machines(1) as (one,):
        await here.running("run", on=here.own)
        selector = {"matchLabels": {"muster.dev/experiment": "run"}}
        metadata = {"name": "keep", "namespace": here.namespace}
        body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata}
        await here.apply({**body, "spec": {"maxUnavailable": 0, "selector": selector}})
        here.row.happens("kubectl drain of a node, and a PodDisruptionBudget that allows none")
        with pytest.raises(Exception, match=r"disruption budget|timed out|global timeout"):
            await here.kubectl("drain", one.plan.name, "--force", "--timeout=10s")
        await here.never("run", lambda seen: seen.status.epoch > 0, 5)
        here.row.says("Running RollComplete 2/2 members are ready; the drain was refused")


async def test_a_cordoned_node_gets_no_members(here: Site) -> None:
    async with here.machines(1) as (one,):
        await here.kubectl("cordon", one.plan.name)
        here.row.happens("the only node is cordoned")
        await here.submit("run", on=here.own)
        await here.says("run", r"Unschedulable.*1 node\(s\) were unschedulable", SLOW)
        await here.kubectl("uncordon", one.plan.name)
        await here.phase("run", "Running")


async def test_a_pod_network_that_is_broken(here: Site) -> None:
    async with here.machines(1) as (one,):
        conflist = one.folder / "etc" / "cni" / "10-pods.conflist"
        conflist.write_text(conflist.read_text().replace('"ptp"', '"no-such-plugin"'))
        here.row.happens("the network plugin of a node is missing: no sandbox can be made")
        await here.submit("run", on=here.own)
        await here.says("run", r"no volumes or no network yet", SLOW)


def spread() -> Object:
    """One member for each node."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"muster.dev/experiment": "run"}},
    }
    return {**GRACE, "template": {"spec": {**TEMPLATE["spec"], "topologySpreadConstraints": [constraint]}}}
