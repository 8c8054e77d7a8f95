"""The examples in containers over two nodes: coordinators are found through CoreDNS, their ports probed by musterd."""

import asyncio
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.api.names import API_VERSION, KIND
from muster.state.vocabulary.subject import JOBSET
from tests.examples.table import BY_NAME
from tests.frameworks.interpreters import CURRENT_TORCH, home, python_of
from tests.real.ground import ROOT, TOLERATIONS
from tests.real.run_kinds import served
from tests.real_node.site import WORK, Site
from tests.real_node.situations.test_nodes import spread

pytestmark = pytest.mark.timeout(900)
LONG = 400.0
"""Seconds for jax in several containers on a busy machine."""


async def test_jax_trains_over_two_nodes(here: Site) -> None:
    here.row.happens("examples/jax: four processes on two nodes train together")
    await here.trains(40, members=4, **spread())
    await here.says("run", r"^Running .*4/4", LONG)
    running = here.row.said
    nodes = {pod["spec"]["nodeName"] for pod in await here.pods("run")}
    assert len(nodes) == 2, nodes
    await here.says("run", "^Succeeded AllMembersSucceeded", LONG)
    here.row.said = f"{running}; then: {here.row.said}"


async def test_a_jax_rank_that_is_killed_is_one_restart(here: Site) -> None:
    await here.trains(100_000, members=3, **spread())
    await here.phase("run", "Running", LONG)
    here.row.happens("kill -9 of a jax rank in its container")
    here.kill((await here.pods("run"))[1])
    await here.says("run", r"^Restarting \S+ .*rank 1 .* ended with exit code 137", LONG)
    await here.goes_on(charged=True, seconds=LONG)


async def test_a_missing_jax_rank_is_named(here: Site) -> None:
    here.row.happens("rank 2 of 3 never calls the jax coordinator")
    await here.trains(10, "[ $MUSTER_RANK != 2 ] || sleep 600\n", members=3)
    await here.says("run", r"2/3.*rank 2", LONG)


async def test_a_jobset_of_ours(here: Site) -> None:
    """The chart runs JobSets with managedBy; CoreDNS knows their members."""
    here.row.happens("examples/jobset-object: a JobSet with managedBy muster.dev/muster")
    document: dict[str, Any] = yaml.safe_load((ROOT / "examples/jobset-object/jobset.yaml").read_text())
    for job in document["spec"]["replicatedJobs"]:
        pod = job["template"]["spec"]["template"]["spec"]
        pod |= {"nodeSelector": WORK, "tolerations": TOLERATIONS}
        for container in pod["containers"]:
            container["image"] = here.nodes.images["train"]
    async with served(here, JOBSET):
        await here.kubectl("apply", "-f", "-", body=document)
        await here.until("jobset/ring", lambda seen: seen.finished, LONG)
        seen = await here.client.get("jobset/ring", namespace=here.namespace)
        here.row.says(f"{seen.phase} {seen.message}")
        assert seen.phase == "Succeeded"


def from_this_machine(python: Path, path: str) -> dict[str, Any]:
    """A template whose members find the framework of an interpreter of this machine, mounted where it is here."""
    prefix = subprocess.run(
        [python, "-c", "import sys; print(sys.base_prefix)"], capture_output=True, text=True, check=True
    )
    folders = [str(home()), prefix.stdout.strip()]
    volumes = [
        {"name": f"folder-{number}", "hostPath": {"path": each, "type": "Directory"}}
        for number, each in enumerate(folders)
    ]
    mounts = [{"name": f"folder-{number}", "mountPath": each, "readOnly": True} for number, each in enumerate(folders)]
    container = {"name": "main", "env": [{"name": "PATH", "value": path}], "volumeMounts": mounts}
    spec = {"nodeSelector": WORK, "tolerations": TOLERATIONS, "volumes": volumes, "containers": [container]}
    return {"spec": spec}


@pytest.mark.alone
@pytest.mark.parametrize("name", ["pytorch", "xgboost", "ray"])
async def test_an_example_of_another_framework_succeeds(here: Site, name: str) -> None:
    """The frameworks are too large for an image of each run: they are mounted from this machine."""
    example = BY_NAME[name]
    example = replace(example, framework=CURRENT_TORCH) if example.framework == "torch" else example
    here.row.happens(f"the example {example.file}, {example.members} members in containers")
    if example.skipped:
        pytest.skip(example.skipped)
    python = await asyncio.to_thread(python_of, example.framework)
    assert python is not None
    spec = example.document(Path("/tmp"))["spec"]
    spec["image"] = here.nodes.images["train"]
    spec["template"] = await asyncio.to_thread(from_this_machine, python, example.search_path)
    spec["restartPolicy"] = {**spec.get("restartPolicy", {}), "backoffLimit": 5}
    body = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": spec}
    await here.request("POST", f"/apis/{API_VERSION}/namespaces/{here.namespace}/experiments", body)
    reason = "SuccessPolicyMet" if example.serving else "AllMembersSucceeded"
    await here.says(name, f"^Succeeded {reason} ", LONG)
