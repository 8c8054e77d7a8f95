"""A roll call by a reader: the real API server authorizes it, and hands the WebSocket on to the node."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from muster.cli.exits import FOUND
from muster.cli.processes.stack import free_port
from muster.kinds.pods import OBSERVE
from tests.real.ground import ROOT, TAINT
from tests.real.namespace import eventually, run
from tests.real.site import PROCESSES, Site

pytestmark = pytest.mark.timeout(400)
STORE = """
import asyncio, sys
sys.path.insert(0, ROOT)
from tests.fakes.tcpstore import FakeStore

async def main():
    store = FakeStore()
    store.join(0)
    server = await asyncio.start_server(store._serve, "", PORT)
    await server.serve_forever()

asyncio.run(main())
"""


async def gang(here: Site) -> int:
    """Two pods of nobody's, of which the first has a store that only itself has joined; the store's port."""
    port = free_port()
    file = Path(here.ground.folder) / f"{here.namespace}.py"
    file.write_text(STORE.replace("ROOT", repr(str(ROOT))).replace("PORT", str(port)), encoding="utf-8")
    for rank, words in enumerate(([sys.executable, "-u", str(file)], ["sleep", "600"])):
        container = {"name": "main", "image": "registry.example/train:1", "command": words}
        tolerations = [{"key": TAINT["key"], "operator": "Exists"}]
        spec = {"nodeSelector": dict(PROCESSES), "tolerations": tolerations, "containers": [container]}
        labels = {"app": "train", OBSERVE: "train"}  # without the second one the node agent of these tests runs none
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"train-{rank}", "labels": labels}}
        await here.request("POST", f"/api/v1/namespaces/{here.namespace}/pods", {**pod, "spec": spec})

    async def runs() -> bool:
        pods: Any = await here.get(f"/api/v1/namespaces/{here.namespace}/pods")
        return [each["status"]["phase"] for each in pods["items"]] == ["Running"] * 2

    await eventually(runs)
    return port


async def diagnosed(here: Site, port: int, account: str) -> tuple[int, dict[str, Any]]:
    """Exit status and answer of the command, by a person with that account."""
    words = ("diagnose", "pods", "-l", "app=train", "--operator", "pytorch", "--coordinator", str(port), "-o", "json")
    options = ("--kubeconfig", await here.account(account), "--namespace", here.namespace)
    status, output, errors = await run([sys.executable, "-m", "muster.cli", *words, *options], cwd=ROOT)
    assert output, errors
    found: dict[str, Any] = json.loads(output)
    return status, found


async def test_a_reader_calls_the_roll_and_without_portforward_is_told_what_is_not_known(here: Site) -> None:
    if not here.ground.kubelet:
        pytest.skip("the API server of the cluster that is given does not reach the node agent of these tests")
    port = await gang(here)
    pods = ("--verb=get,list,watch", "--resource=pods")
    ports = ("--verb=get,create", "--resource=pods/portforward")
    for name, rights in (("view", (pods,)), ("caller", (pods, ports))):
        await here.kubectl("create", "serviceaccount", name)
        for number, right in enumerate(rights):
            await here.kubectl("create", "role", f"{name}-{number}", *right)
            account = f"--serviceaccount={here.namespace}:{name}"
            await here.kubectl("create", "rolebinding", f"{name}-{number}", f"--role={name}-{number}", account)
    here.row.happens("muster diagnose of two pods of nobody's, of which one has joined the store of the other")
    _, found = await diagnosed(here, port, "caller")
    assert (found["arrived"], found["size"], found["unknown"]) == (1, 2, {})
    assert [each["rank"] for each in found["missingRanks"]] == [1]
    here.row.says(found["message"])
    status, found = await diagnosed(here, port, "view")
    assert status != FOUND
    assert found["arrived"] is None
    assert "without get and create of pods/portforward" in found["unknown"]["roll"]
