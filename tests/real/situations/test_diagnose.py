"""A roll call by a reader: the real API server authorizes it, and hands the WebSocket on to the node.

What it finds in a table of faults is what a musterd of the chart finds that has watched over them from the beginning.
"""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from muster.cli.exits import FOUND
from muster.cli.processes.stack import free_port
from muster.kinds.pods import OBSERVE
from tests.deploy.chart.release import Release
from tests.real.ground import ROOT, STAND_IN, TAINT
from tests.real.namespace import Object, eventually, run
from tests.real.site import PROCESSES, Site
from tests.real.situations.test_readers import account, read

pytestmark = pytest.mark.timeout(400)
READER = ("--verb=get,list,watch", "--resource=pods")
CALLER = ("--verb=get,create", "--resource=pods/portforward")
LONGEST = 10.0
"""Seconds in which the command answers, beside the start of its process."""
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


async def entitled(here: Site, name: str, *rights: Sequence[str]) -> None:
    """Create a service account with these rights alone."""
    await here.kubectl("create", "serviceaccount", name)
    for number, right in enumerate(rights):
        await here.kubectl("create", "role", f"{name}-{number}", *right)
        holder = f"--serviceaccount={here.namespace}:{name}"
        await here.kubectl("create", "rolebinding", f"{name}-{number}", f"--role={name}-{number}", holder)


async def diagnosed(here: Site, config: str, *words: str) -> tuple[int, dict[str, Any]]:
    """Exit status and answer of the command, by a person with that kubeconfig."""
    options = ("-o", "json", "--kubeconfig", config, "--namespace", here.namespace)
    status, output, errors = await run([sys.executable, "-m", "muster.cli", "diagnose", *words, *options], cwd=ROOT)
    assert output, errors
    found: dict[str, Any] = json.loads(output)
    return status, found


async def test_a_reader_calls_the_roll_and_without_portforward_is_told_what_is_not_known(here: Site) -> None:
    if not here.ground.kubelet:
        pytest.skip("the API server of the cluster that is given does not reach the node agent of these tests")
    port = await gang(here)
    await entitled(here, "view", READER)
    await entitled(here, "caller", READER, CALLER)
    here.row.happens("muster diagnose of two pods of nobody's, of which one has joined the store of the other")
    words = ("pods", "-l", "app=train", "--operator", "pytorch", "--coordinator", str(port))
    _, found = await diagnosed(here, await here.account("caller"), *words)
    assert (found["arrived"], found["size"], found["unknown"]) == (1, 2, {})
    assert [each["rank"] for each in found["missingRanks"]] == [1]
    here.row.says(found["message"])
    status, found = await diagnosed(here, await here.account("view"), *words)
    assert status != FOUND
    assert found["arrived"] is None
    assert "without get and create of pods/portforward" in found["unknown"]["roll"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One row: what is wrong with some pods of three, and the cause that is found with its ranks."""

    name: str
    script: str
    ranks: tuple[int, ...]
    cause: str = ""
    pod: Object = field(default_factory=dict)
    """What is different in their spec."""
    phase: str = "Assembling"
    size: int = 3
    """Of the gang, by its annotation; three pods exist."""

    def pods(self) -> list[Object]:
        """The pods of the gang."""
        return [self._pod(rank) for rank in range(3)]

    def _pod(self, rank: int) -> Object:
        wrong = rank in self.ranks
        container: Object = {"name": "main", "image": "registry.example/train:1"}
        container |= {"command": [self.script if wrong else RUN]}
        spec: Object = {"restartPolicy": "Never", "nodeSelector": dict(STAND_IN), "containers": [container]}
        spec |= {"tolerations": [{"key": TAINT["key"], "operator": "Exists"}], **(self.pod if wrong else {})}
        notes = {"muster.dev/size": str(self.size)}
        metadata = {"name": f"{self.name}-{rank}", "labels": {OBSERVE: self.name}, "annotations": notes}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


RUN = "*: run 900"
FETCH: Object = {"initContainers": [{"name": "fetch", "image": "registry.example/fetch:1"}]}
CLAIM: Object = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "none"}}]}
ELSEWHERE: Object = {"nodeSelector": {"example.org/rack": "none"}}
GATED: Object = {"schedulingGates": [{"name": "example.org/quota"}]}
FAULTS = (
    Fault("well", RUN, (), phase="Running"),
    Fault("image", "*: wait ErrImagePull", (1,), "ImagePull"),
    Fault("config", "*: wait CreateContainerConfigError", (0,), "ContainerCannotStart"),
    Fault("init-image", "*: init-wait ErrImagePull", (1, 2), "ImagePull", FETCH),
    Fault("init-exit", "*: init-exit 2", (2,), "Crashed", FETCH),
    Fault("exit", "*: run 1, exit 7", (1,), "Crashed"),
    Fault("memory", "*: run 1, oom", (2,), "OOMKilled"),
    Fault("evicted", "*: run 1, evicted", (1,), "NodePressure"),
    Fault("selector", RUN, (2,), "Unschedulable", ELSEWHERE),
    Fault("claim", RUN, (0,), "Unschedulable", CLAIM),
    Fault("gated", RUN, (0, 1, 2), "Queued", GATED, phase="Pending"),
    Fault("absent", RUN, (3,), "NotCreated", size=4),
    Fault("unready", "*: unready, run 900", (1,), "NotArrived"),
    Fault("pulls", "*: pull 900", (2,), "Sandbox"),
    Fault("done", "*: run 1, exit 0", (0, 1, 2), phase="Succeeded"),
)


def said(document: dict[str, Any]) -> tuple[object, ...]:
    """What a document has of a gang: its sentence, and cause and sentence of each finding.

    The phase is left out: a musterd that saw all three run calls a gang Running whose member then failed.
    """
    found = [(each["cause"], each["sentence"]) for each in document["findings"]]
    return document["reason"], document["message"], found


@dataclass
class Beside:
    """A musterd's page and the command, side by side. ``slowest`` is the longest time of the command, in seconds."""

    here: Site
    url: str
    token: str
    config: str
    slowest: float = 0.0

    async def agree(self, fault: Fault) -> dict[str, Any]:
        """What the command finds, once the pods are steady and the page of musterd has the same."""
        page = f"{self.url}/experiments/{self.here.namespace}/pods/{fault.name}.json"
        last: list[object] = []

        async def same() -> dict[str, Any]:
            began = time.monotonic()
            _, found = await diagnosed(self.here, self.config, f"pods/{fault.name}")
            self.slowest = max(self.slowest, time.monotonic() - began)
            status, text = await asyncio.to_thread(read, page, self.token)
            last[:] = said(found), said(json.loads(text)) if status == 200 else text
            ranks = tuple(rank for each in found["findings"] for rank in each["ranks"])
            causes = [each["cause"] for each in found["findings"]]
            expected = (fault.phase, [fault.cause], fault.ranks) if fault.cause else (fault.phase, [], ())
            return found if last[0] == last[1] and (found["phase"], causes, ranks) == expected else {}

        try:
            agreed: dict[str, Any] = await eventually(same, 60)
        except AssertionError as error:
            raise AssertionError(f"{fault.name}: {last}") from error
        return agreed


@pytest.mark.alone
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("our_servers")
async def test_faults_have_the_cause_ranks_and_sentence_of_a_musterd_that_has_been_there(
    here: Site, ours: Release
) -> None:
    here.row.happens(f"{len(FAULTS)} gangs of labelled pods, each with a fault, under a musterd and muster diagnose")
    await ours.install("--set", "watch.kinds=pods")
    await entitled(here, "caller", READER, CALLER)
    token, config = await account(here, "seer"), await here.account("caller")
    seer = f"--serviceaccount={here.namespace}:seer"
    await here.kubectl("create", "rolebinding", "seer", "--clusterrole=cluster-admin", seer)
    began = time.monotonic()
    await run([sys.executable, "-m", "muster.cli", "diagnose", "--help"], cwd=ROOT)
    start = time.monotonic() - began
    async with ours.musterd() as musterd:
        await musterd.until_leading()
        await here.apply(*(pod for fault in FAULTS for pod in fault.pods()))
        beside = Beside(here, musterd.url, token, config)
        wrong = []
        for fault in FAULTS:
            try:
                assert (await beside.agree(fault))["unknown"] == {}
            except AssertionError as error:
                wrong.append(str(error))
        assert not wrong, "\n".join(wrong)
        assert beside.slowest - start < LONGEST
        here.row.says(f"the same causes, ranks and sentences; the slowest answer took {beside.slowest - start:.1f} s")
        assert musterd.refused() == []
