"""examples/ray with real Ray on the project's own node agent, bound by the real scheduler."""

import contextlib
import os
import signal
from pathlib import Path

import pytest
import yaml

from muster.api.names import API_VERSION, KIND, LABEL_RANK
from muster.local.home import CALLERS, Caller, write_caller
from tests.frameworks.ray_cluster import FILE, NAME, processes_of, search_path
from tests.real.ground import ROOT, TAINT
from tests.real.namespace import Object, eventually
from tests.real.site import PROCESSES, Site

# real Ray needs both cores of a small machine
pytestmark = [pytest.mark.alone, pytest.mark.timeout(900)]
LONG = 300.0
WORKER, SUBMITTER = 3, 4
PLACE = {"nodeSelector": PROCESSES, "tolerations": [{"key": TAINT["key"], "operator": "Exists"}]}
"""In the template, because the submitter is of no type."""


async def pod_of(here: Site, rank: int) -> Object:
    """The only pod of a rank that has not ended."""
    pods = [each for each in await here.pods(NAME) if each["metadata"]["labels"][LABEL_RANK] == str(rank)]
    running = [each for each in pods if each["status"].get("phase") not in ("Failed", "Succeeded")]
    assert len(running) == 1, [(each["metadata"]["name"], each["status"]) for each in pods]
    return running[0]


async def printed(here: Site) -> list[str]:
    """What the submitter has printed so far, from the files of the node: it serves no logs to the API server."""
    pods = [each for each in await here.pods(NAME) if each["metadata"]["labels"][LABEL_RANK] == str(SUBMITTER)]
    folders = [Path(here.ground.folder) / "node" / "pods" / each["metadata"]["uid"] / "logs" for each in pods]
    return [line for folder in folders for file in folder.rglob("*.log") for line in file.read_text().splitlines()]


async def test_a_killed_ray_worker_runs_again_alone_and_the_program_goes_on(here: Site) -> None:
    here.row.happens("the example ray/manifest.yaml, 5 members; the worker of rank 3 is killed")
    if os.geteuid() != 0:
        pytest.skip("the nodes of a Ray cluster need network namespaces of their own, which only root can make")
    caller = Caller({**os.environ, "PATH": search_path()}, ROOT)
    spec = yaml.safe_load(FILE.read_text(encoding="utf-8"))["spec"]
    spec |= {"template": {"spec": PLACE}, "command": f"{spec['command']} --steps 60 --pace 0.5"}

    async def works() -> bool:
        return any("step 3:" in line for line in await printed(here))

    with write_caller(Path(here.ground.folder) / "node" / CALLERS, here.namespace, NAME, caller):
        body = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": NAME}, "spec": spec}
        await here.request("POST", f"/apis/{API_VERSION}/namespaces/{here.namespace}/experiments", body)
        await here.says(NAME, "^Running RollComplete 5/5", LONG)
        await eventually(works, LONG)
        before = (await here.client.get(NAME, namespace=here.namespace)).status.restarts  # a starved raylet ends itself
        lost = (await pod_of(here, WORKER))["metadata"]["name"]
        for pid in processes_of(lost):
            with contextlib.suppress(ProcessLookupError):  # it ended with one that was killed before it
                os.kill(pid, signal.SIGKILL)
        seen = await here.until(NAME, lambda seen: "missing rank 3" in seen.message)
        assert seen.phase == "Running"
        await here.says(NAME, "^Succeeded ", LONG)
        seen = await here.client.get(NAME, namespace=here.namespace)
        assert (seen.status.epoch, seen.status.restarts) == (0, before + 1)
        log = await printed(here)
    assert sum("step 0:" in line for line in log) == 1, "the program itself was not run again"
    assert any(line.endswith("done") for line in log)
