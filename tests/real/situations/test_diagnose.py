"""A roll call by a reader: the real API server authorizes it, and hands the WebSocket on to the node.

What it finds in a table of faults is what a musterd of the chart finds that has watched over them from the beginning.
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from muster.cli.exits import FOUND
from muster.cli.processes.stack import free_port
from muster.kinds.pods import OBSERVE
from tests.deploy.chart.release import Release
from tests.real.diagnosing import CALLER, EVENTS, READER, both_find, diagnosed, entitled
from tests.real.ground import ROOT, STAND_IN, TOLERATIONS
from tests.real.namespace import Object
from tests.real.site import PROCESSES, Site

pytestmark = pytest.mark.timeout(400)
STORE = """
import asyncio, sys
sys.path.insert(0, ROOT)
from tests.fakes.tcpstore import FakeStore

async def main():
    store = FakeStore()
    SERVES
    server = await asyncio.start_server(store._serve, "", PORT)
    await server.serve_forever()

asyncio.run(main())
"""


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

    serves: str = ""
    """What rank 0, a process, does with its store before that listens; the others are processes that wait."""
    job: Object | None = None
    """What the spec of the Job has that makes the pods; None: they are nobody's."""
    beside: tuple[Object, ...] = ()
    """Objects that are there before the pods."""

    @property
    def run(self) -> str:
        return f"pods/{self.name}" if self.job is None else f"job/{self.name}"

    def objects(self, folder: Path) -> list[Object]:
        """The pods of the gang, or the Job that makes them. What rank 0 runs is written into the folder."""
        notes = {"muster.dev/size": str(self.size)}
        if self.serves:
            port, file = free_port(), folder / f"{self.name}.py"
            text = STORE.replace("ROOT", repr(str(ROOT))).replace("PORT", str(port)).replace("SERVES", self.serves)
            file.write_text(text, encoding="utf-8")
            notes |= {"muster.dev/operator": "pytorch", "muster.dev/coordinator-port": str(port)}
        labels = {OBSERVE: self.name, "app": self.name}
        metadata = {"labels": labels, "annotations": notes}
        if self.job is None:
            named = [{**metadata, "name": f"{self.name}-{rank}"} for rank in range(3)]
            return [{**POD, "metadata": named[rank], "spec": self._spec(rank, folder)} for rank in range(3)]
        template = {"metadata": {"labels": labels}, "spec": self._spec(self.ranks[0] if self.ranks else 0, folder)}
        spec = {"completionMode": "Indexed", "completions": 3, "parallelism": 3, "template": template, **self.job}
        return [{"apiVersion": "batch/v1", "kind": "Job", "metadata": {**metadata, "name": self.name}, "spec": spec}]

    def _spec(self, rank: int, folder: Path) -> Object:
        wrong = rank in self.ranks
        command = [self.script if wrong else RUN]
        if self.serves:
            command = [sys.executable, "-u", str(folder / f"{self.name}.py")] if rank == 0 else ["sleep", "900"]
        spec: Object = {"restartPolicy": "Never", "nodeSelector": dict(PROCESSES if self.serves else STAND_IN)}
        spec |= {"containers": [{"name": "main", "image": "registry.example/train:1", "command": command}]}
        return spec | {"tolerations": TOLERATIONS, **(self.pod if wrong else {})}


POD: Object = {"apiVersion": "v1", "kind": "Pod"}
RUN = "*: run 900"
FETCH: Object = {"initContainers": [{"name": "fetch", "image": "registry.example/fetch:1"}]}
CLAIM: Object = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "none"}}]}
ELSEWHERE: Object = {"nodeSelector": {"example.org/rack": "none"}}
GATED: Object = {"schedulingGates": [{"name": "example.org/quota"}]}
UNBOUND: Object = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "unbound"}}]}
DISK: Object = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "unbound"},
    "spec": {
        "storageClassName": "none",
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    },
}
QUOTA: Object = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "small"},
    "spec": {"hard": {"pods": "0"}, "scopes": ["Terminating"]},
}
"""Of pods with a deadline alone."""
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
    Fault("roll", "", (2,), "NotArrived", serves="store.join(0, 1)"),
    Fault("frozen", "", (0,), "CoordinatorFrozen", serves="store.going.clear()"),
    Fault("unbound", RUN, (1,), "Unschedulable", UNBOUND, beside=(DISK,)),
    Fault("taint", RUN, (1, 2), "Unschedulable", {"tolerations": []}),
    Fault("room", RUN, (0,), "Unschedulable", {"resources": {"requests": {"cpu": "20000"}}}),
    Fault(
        "quota", RUN, (0, 1, 2), "NotCreated", {"activeDeadlineSeconds": 900}, phase="Pending", job={}, beside=(QUOTA,)
    ),
    Fault("account", RUN, (0, 1, 2), "NotCreated", {"serviceAccountName": "none"}, phase="Pending", job={}),
    Fault("priority", RUN, (0, 1, 2), "NotCreated", {"priorityClassName": "none"}, phase="Pending", job={}),
    Fault("deadline", RUN, (), job={"activeDeadlineSeconds": 2}, phase="Failed"),
)


async def test_a_reader_calls_the_roll_and_without_portforward_is_told_what_is_not_known(here: Site) -> None:
    if not here.ground.kubelet:
        pytest.skip("the API server of the cluster that is given does not reach the node agent of these tests")
    gang = Fault("train", "", (), serves="store.join(0)")
    pods = gang.objects(Path(here.ground.folder))
    await here.apply(*pods)
    await here.all_run(3)
    await entitled(here, "view", READER)
    await entitled(here, "caller", READER, CALLER)
    here.row.happens("muster diagnose of three pods of nobody's, of which one has joined its own store")
    port = pods[0]["metadata"]["annotations"]["muster.dev/coordinator-port"]
    words = ("pods", "-l", "app=train", "--operator", "pytorch", "--coordinator", port)
    _, found = await diagnosed(here, await here.account("caller"), *words)
    assert (found["arrived"], found["size"], found["unknown"]) == (1, 3, {})
    assert [each["rank"] for each in found["missingRanks"]] == [1, 2]
    here.row.says(found["message"])
    status, found = await diagnosed(here, await here.account("view"), *words)
    assert status != FOUND
    assert found["arrived"] is None
    assert "without get and create of pods/portforward" in found["unknown"]["roll"]


@pytest.mark.alone
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("our_servers")
async def test_faults_have_the_cause_ranks_and_sentence_of_a_musterd_that_has_been_there(
    here: Site, ours: Release
) -> None:
    here.row.happens(f"{len(FAULTS)} gangs of pods, each with a fault, under a musterd and muster diagnose")
    await both_find(here, ours, "pods\\,jobs", FAULTS, ("--verb=get", "--resource=jobs"), EVENTS)
