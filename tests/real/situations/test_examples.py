"""Each example of the table, with real processes on the project's own node agent, bound by the real scheduler."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from muster.api.names import API_VERSION, KIND
from tests.examples.table import BY_NAME
from tests.frameworks.interpreters import reason_without
from tests.real.ground import TAINT
from tests.real.site import PROCESSES, Site

pytestmark = pytest.mark.timeout(600)
LONG = 300.0
"""Seconds for what several processes do on a busy machine."""


def on_the_agent(types: dict[str, Any]) -> dict[str, Any]:
    """The types, with each member on the node whose pods are processes."""
    where = {"extraSelectors": PROCESSES, "extraTolerations": [{"key": TAINT["key"], "operator": "Exists"}]}

    def placed(given: dict[str, Any]) -> dict[str, Any]:
        return {**given, "resources": {**given["resources"], **where}}

    return {
        name: [placed(each) for each in given] if isinstance(given, list) else placed(given)
        for name, given in types.items()
    }


@pytest.mark.parametrize("name", BY_NAME)
async def test_an_example_runs_from_its_file_to_succeeded(here: Site, name: str) -> None:
    example = BY_NAME[name]
    here.row.happens(f"the example {example.file}, {example.members} members")
    if example.framework and (reason := reason_without(example.framework)):
        pytest.skip(reason)
    if example.module and importlib.util.find_spec(example.module) is None:
        pytest.skip(f"{example.module} is not installed")
    spec = example.document(Path(here.ground.folder) / "checkpoints")["spec"]
    spec["types"] = on_the_agent(spec["types"])
    body = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": spec}
    await here.request("POST", f"/apis/{API_VERSION}/namespaces/{here.namespace}/experiments", body)
    await here.says(name, "^Succeeded AllMembersSucceeded ", LONG)
    phases = [pod["status"]["phase"] for pod in await here.pods(name)]
    assert phases == ["Succeeded"] * example.members
