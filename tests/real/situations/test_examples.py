"""Each example of the table, with real processes on the project's own node agent, bound by the real scheduler."""

from pathlib import Path
from typing import Any

import pytest

from muster.api.names import API_VERSION, KIND
from tests.examples.table import BY_NAME
from tests.real.ground import TAINT
from tests.real.site import PROCESSES, Site

pytestmark = pytest.mark.timeout(600)
LONG = 300.0
"""Seconds for what several processes do on a busy machine."""


def on_the_agent(search_path: str) -> dict[str, Any]:
    """A template: every member goes to the node whose pods are processes, and finds its framework there."""
    return {
        "spec": {
            "nodeSelector": PROCESSES,
            "tolerations": [{"key": TAINT["key"], "operator": "Exists"}],
            "containers": [{"name": "main", "env": [{"name": "PATH", "value": search_path}]}],
        }
    }


@pytest.mark.parametrize("name", BY_NAME)
async def test_an_example_runs_from_its_file_to_succeeded(here: Site, name: str) -> None:
    example = BY_NAME[name]
    here.row.happens(f"the example {example.file}, {example.members} members")
    if example.skipped:
        pytest.skip(example.skipped)
    spec = example.document(Path(here.ground.folder) / "checkpoints")["spec"]
    spec["template"] = on_the_agent(example.search_path)
    body = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": spec}
    await here.request("POST", f"/apis/{API_VERSION}/namespaces/{here.namespace}/experiments", body)
    reason = "SuccessPolicyMet" if example.serving else "AllMembersSucceeded"
    await here.says(name, f"^Succeeded {reason} ", LONG)
    phases = [pod["status"]["phase"] for pod in await here.pods(name)]
    assert phases.count("Succeeded") >= example.members - example.serving, phases
