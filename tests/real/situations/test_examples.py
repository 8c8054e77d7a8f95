"""Each example of the table, with real processes on the project's own node agent, bound by the real scheduler."""

from pathlib import Path
from typing import Any

import pytest

from muster.api.names import API_VERSION, KIND
from tests.deploy.chart.release import Release
from tests.examples.table import BY_NAME, EXAMPLES, containers_of, pod_specs_of
from tests.real.ground import TOLERATIONS
from tests.real.namespace import eventually
from tests.real.run_kinds import served
from tests.real.site import PROCESSES, Site

pytestmark = pytest.mark.timeout(600)
LONG = 300.0
"""Seconds for what several processes do on a busy machine."""


RAY_STARTS = 10
"""Ray gives a raylet 30 s to start and has no setting for it (ray/_private/node.py). A busy machine needs more starts
than the example allows, and the processes of other situations and tests must not run beside it."""


def on_the_agent(search_path: str) -> dict[str, Any]:
    """A template: every member goes to the node whose pods are processes, and finds its framework there."""
    return {
        "spec": {
            "nodeSelector": PROCESSES,
            "tolerations": TOLERATIONS,
            "containers": [{"name": "main", "env": [{"name": "PATH", "value": search_path}]}],
        }
    }


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(each.name, marks=[pytest.mark.alone] if each.name == "ray" else [])
        for each in EXAMPLES
        if not each.object
    ],
)
async def test_an_example_runs_from_its_file_to_succeeded(here: Site, name: str) -> None:
    example = BY_NAME[name]
    here.row.happens(f"the example {example.file}, {example.members} members")
    if example.skipped:
        pytest.skip(example.skipped)
    spec = example.document(Path(here.ground.folder) / "checkpoints")["spec"]
    spec["template"] = on_the_agent(example.search_path)
    if name == "ray":
        spec["restartPolicy"] = {**spec.get("restartPolicy", {}), "backoffLimit": RAY_STARTS}
    body = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": spec}
    await here.request("POST", f"/apis/{API_VERSION}/namespaces/{here.namespace}/experiments", body)
    reason = "SuccessPolicyMet" if example.serving else "AllMembersSucceeded"
    await here.says(name, f"^Succeeded {reason} ", LONG)

    async def all_pods_have_succeeded() -> bool:
        """A member is done with its container; the kubelet may report the phase of its pod after that."""
        phases = [pod["status"]["phase"] for pod in await here.pods(name)]
        return phases.count("Succeeded") >= example.members - example.serving

    await eventually(all_pods_have_succeeded)


@pytest.mark.alone
@pytest.mark.usefixtures("our_servers")
@pytest.mark.parametrize("name", [each.name for each in EXAMPLES if each.object])
async def test_an_example_of_another_kind_runs_from_its_file_under_the_rights_of_the_chart(
    here: Site, ours: Release, name: str
) -> None:
    example = BY_NAME[name]
    kind = example.subject
    here.row.happens(f"the example {example.file}, {example.members} members; the chart with {kind.plural}")
    if example.skipped:
        pytest.skip(example.skipped)
    document = example.document(Path(here.ground.folder))
    for spec in pod_specs_of(document):
        spec |= {"nodeSelector": PROCESSES, "tolerations": TOLERATIONS}
    variables = [{"name": each, "value": value} for each, value in example.environment.items()]
    for container in containers_of(document):
        container["env"] = [*container.get("env", ()), *variables]
    await ours.install("--set", f"settings.runKinds={kind.plural}")
    async with served(here, kind), ours.musterd() as daemon:
        await daemon.until_leading()
        await here.kubectl("apply", "-f", "-", body=document)
        made = f"{kind.kind.lower()}/{document['metadata']['name']}"
        await here.until(made, lambda seen: seen.finished, LONG)
        seen = await here.client.get(made, namespace=here.namespace)
        here.row.says(f"{seen.phase} {seen.message}")
        assert seen.phase == "Succeeded"
        await here.shows(made, "Succeeded")
        assert daemon.refused() == []
        await here.kubectl("delete", kind.kind.lower(), document["metadata"]["name"])
