"""The examples in containers over two nodes: coordinators are found through CoreDNS, their ports probed by musterd."""

from typing import Any

import pytest
import yaml

from muster.state.vocabulary.subject import JOBSET
from tests.real.ground import ROOT, TAINT
from tests.real.run_kinds import served
from tests.real_node.site import WORK, Site
from tests.real_node.situations.test_nodes import spread

pytestmark = pytest.mark.timeout(900)
LONG = 400.0
"""Seconds for jax in several containers on a busy machine."""


async def test_jax_trains_over_two_nodes(here: Site) -> None:
    here.row.happens("examples/jax: four processes on two nodes train together")
    train = "python3 -u examples/jax/train.py --steps 40"
    image = here.nodes.images["train"]
    await here.submit("run", train, operator="jax", members=4, cpus=0.2, image=image, **spread())
    await here.says("run", r"^Running .*4/4", LONG)
    running = here.row.said
    nodes = {pod["spec"]["nodeName"] for pod in await here.pods("run")}
    assert len(nodes) == 2, nodes
    await here.says("run", "^Succeeded AllMembersSucceeded", LONG)
    here.row.said = f"{running}; then: {here.row.said}"


async def test_a_jax_rank_that_is_killed_is_one_restart(here: Site) -> None:
    train = "python3 -u examples/jax/train.py --steps 100000"
    image = here.nodes.images["train"]
    await here.submit("run", train, operator="jax", members=3, cpus=0.2, image=image, **spread())
    await here.phase("run", "Running", LONG)
    here.row.happens("kill -9 of a jax rank in its container")
    machine = here.machine_of((await here.pods("run"))[1])
    pod = (await here.pods("run"))[1]
    container = pod["status"]["containerStatuses"][0]["containerID"].removeprefix("containerd://")
    machine.within(here.nodes.programs["ctr"], "-n", "k8s.io", "tasks", "kill", "--signal", "SIGKILL", container)
    await here.says("run", r"^Restarting \S+ .*rank 1 .* exited 137", LONG)
    await here.until("run", lambda seen: seen.phase == "Running" and seen.status.epoch == 1, LONG)


async def test_a_missing_jax_rank_is_named(here: Site) -> None:
    image = here.nodes.images["train"]
    here.row.happens("rank 2 of 3 never calls the jax coordinator")
    command = "[ $MUSTER_RANK != 2 ] || sleep 600\npython3 -u examples/jax/train.py --steps 10"
    await here.submit("run", command, operator="jax", members=3, cpus=0.2, image=image)
    await here.says("run", r"2/3.*rank 2", LONG)


async def test_a_jobset_of_ours(here: Site) -> None:
    """The chart runs JobSets with managedBy; CoreDNS knows their members."""
    here.row.happens("examples/jobset-object: a JobSet with managedBy muster.dev/muster")
    document: dict[str, Any] = yaml.safe_load((ROOT / "examples/jobset-object/jobset.yaml").read_text())
    for job in document["spec"]["replicatedJobs"]:
        pod = job["template"]["spec"]["template"]["spec"]
        pod |= {"nodeSelector": WORK, "tolerations": [{"key": TAINT["key"], "operator": "Exists"}]}
        for container in pod["containers"]:
            container["image"] = here.nodes.images["train"]
    async with served(here, JOBSET):
        await here.kubectl("apply", "-f", "-", body=document)
        await here.until("jobset/ring", lambda seen: seen.finished, LONG)
        seen = await here.client.get("jobset/ring", namespace=here.namespace)
        here.row.says(f"{seen.phase} {seen.message}")
        assert seen.phase == "Succeeded"
