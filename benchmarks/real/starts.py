"""Starts and a restart of gangs: a bare loop of creates, and Muster. Every clock stops when a watch has seen the pods.

The bare loop posts the pods that Muster renders, byte for byte, under musterd's own account, while musterd is down:
what it takes is the API server's share. With Services it posts the headless Service of each gang first, as every
operator does: the controller manager then follows each pod in Endpoints and EndpointSlices, on the same cores. The pods
run on pretended nodes in all cases.
"""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from benchmarks.real.pods import watched
from benchmarks.real.processes import Processes
from muster.api.errors import ApiError, NotFound
from muster.api.manifest.experiment import parse_experiment
from muster.api.names import API_VERSION, KIND, LABEL_EPOCH
from muster.kinds.experiments import plan_of
from muster.kube.authentication.kubeconfig import KubeConfig
from muster.kube.connection import Connection
from muster.kube.resources import Object as Meta
from muster.kube.resources import core, read
from muster.reconcilers.render.objects import render_service
from muster.reconcilers.render.pod import PodTemplate
from tests.real.ground import STAND_IN, SYSTEM, TAINT, Ground
from tests.real.namespace import eventually
from tests.real.rights import account
from tests.real.stopping import held

Object = dict[str, Any]
Item = TypeVar("Item")
IN_FLIGHT = 32
"""Requests at a time: as many as Muster allows itself."""
MERGE = "application/merge-patch+json"
FAILED: Object = {
    "phase": "Failed",
    "containerStatuses": [
        {
            "name": "main",
            "image": "registry.example/train:1",
            "imageID": "",
            "ready": False,
            "restartCount": 0,
            "state": {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": None}},
        }
    ],
}
DELETES = 10
"""Requests in which all pods of a namespace are deleted at most."""
BACK_OFF = 1.0
"""Seconds that Muster is asked to wait before the restart."""


@dataclass(frozen=True, slots=True)
class Gangs:
    """``experiments`` gangs of ``members``."""

    experiments: int
    members: int

    @property
    def pods(self) -> int:
        """Return all of them."""
        return self.experiments * self.members

    @property
    def names(self) -> list[str]:
        """Return the names of the experiments."""
        return [f"run-{number}" for number in range(self.experiments)]

    def __str__(self) -> str:
        return f"{self.experiments} x {self.members:,} pods"


@dataclass(slots=True)
class Figures:
    """Seconds, and seconds of CPU."""

    created: float = 0.0
    """Seconds from the first request until the last pod existed."""
    cpu: Mapping[str, float] = field(default_factory=dict)
    """CPU seconds of each program, until all pods ran."""
    deleted: float = 0.0
    """From the first DELETE until the last pod was gone."""
    restarted: float = 0.0
    """Seconds from the failure of one member until the last pod of the new epoch existed."""
    writes: dict[str, int] = field(default_factory=dict)
    """Writes of musterd until the start was over, and for the restart."""


@dataclass(frozen=True, slots=True)
class Site:
    """Place of a measurement."""

    ground: Ground
    admin: Connection
    namespace: str

    @property
    def processes(self) -> Processes:
        """Return the processes of the ground."""
        return Processes(Path(self.ground.run))

    @property
    def experiments(self) -> str:
        """Return the path of the Experiments."""
        return f"/apis/{API_VERSION}/namespaces/{self.namespace}/experiments"

    async def request(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Object:
        """Send one request of an administrator."""
        data = None if body is None else msgspec.json.encode(body)
        answer = await self.admin.request(method, path, body=data, content_type=kind)
        return msgspec.json.decode(answer.body, type=dict)

    async def delete(self, experiment: Object) -> None:
        """Delete an Experiment. One by one: a DELETE of all has no answer in time where the machine is busy."""
        with contextlib.suppress(NotFound):
            await self.request("DELETE", f"{self.experiments}/{experiment['metadata']['name']}")

    async def answers(self, path: str) -> bool:
        """Return True if an object or a kind has that path."""
        try:
            await self.request("GET", path)
        except NotFound:
            return False
        return True

    def writes(self) -> int:
        """Return writes of musterd in the namespace, by the audit log."""
        found, user = 0, account(SYSTEM, "musterd")
        with Path(self.ground.audit_log).open(encoding="utf-8") as log:
            for line in log:
                event = json.loads(line)
                where = event.get("objectRef") or {}
                own = event["user"]["username"] == user and where.get("namespace") == self.namespace
                answered = event["stage"] == "ResponseComplete"
                found += own and answered and event["verb"] in ("create", "update", "patch", "delete")
        return found


async def each(items: Iterable[Item], do: Callable[[Item], Awaitable[object]], at_once: int = IN_FLIGHT) -> None:
    """Call ``do`` for every item, ``at_once`` at a time."""
    queue = iter(items)

    async def worker() -> None:
        for item in queue:
            await do(item)

    async with asyncio.TaskGroup() as workers:
        for number in range(at_once):
            workers.create_task(worker(), name=f"loop ({number})")


@asynccontextmanager
async def site(ground: Ground, namespace: str) -> AsyncIterator[Site]:
    """Yield a namespace of its own. Its pods are deleted with grace 0: a garbage collector would need minutes."""
    admin = await Connection.open(KubeConfig(ground.admin))
    made = Site(ground, admin, namespace)
    try:
        await made.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        account_path = core(namespace, "serviceaccounts", "default")  # without one no pod is admitted
        await eventually(lambda: made.answers(account_path))
        await made.processes.calm()
        yield made
        await each((await made.request("GET", made.experiments))["items"], made.delete)
        await _delete_pods(admin, namespace)
        await made.request("DELETE", f"/api/v1/namespaces/{namespace}")
    finally:
        await admin.aclose()


async def _delete_pods(admin: Connection, namespace: str) -> None:
    """Delete all pods of a namespace. The API server cuts a request after a minute: the next one continues."""
    for left in reversed(range(DELETES)):
        try:
            await admin.request("DELETE", core(namespace, "pods"), params={"gracePeriodSeconds": "0"}, timeout=120)
        except ApiError as error:
            if error.status != HTTPStatus.GATEWAY_TIMEOUT or not left:
                raise
        else:
            return


def experiment(name: str, namespace: str, members: int) -> Object:
    """Return an Experiment whose members run on pretended nodes until they are deleted."""
    resources = {
        "cpus": 1,
        "ramRatio": 2,
        "extraSelectors": STAND_IN,
        "extraTolerations": [{"key": TAINT["key"], "operator": "Exists"}],
    }
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "operator": "jobset",
            "image": "registry.example/train:1",
            "command": "python3 -u main.py --config large.yaml",
            "restartPolicy": {"backoff": {"initial": f"{BACK_OFF:g}s"}},
            "types": {"worker": {"completions": members, "parallelisms": members, "resources": resources}},
        },
    }


async def bare(here: Site, gangs: Gangs, *, services: bool = False) -> Figures:
    """Create and delete the pods of the gangs in a loop, their Services before them. musterd is down."""
    figures = Figures()
    daemon = await Connection.open(KubeConfig(here.ground.musterd))
    pods = core(here.namespace, "pods")
    try:
        async with held(here.ground, "musterd"), watched(here.admin, here.namespace, LABEL_EPOCH) as seen:
            bodies: list[bytes] = []
            domains: list[Object] = []
            for name in gangs.names:
                made = await here.request("POST", here.experiments, experiment(name, here.namespace, gangs.members))
                plan = plan_of(parse_experiment(made))
                bodies += map(PodTemplate(plan, plan.groups[0], 0).render, plan.members())
                if services:
                    domains.append(render_service(plan))
            made_pods: list[str] = []

            async def create(body: bytes) -> None:
                answer = await daemon.request("POST", pods, body=body)
                made_pods.append(read(answer, Meta, "POST pods").metadata.name)

            async def publish(body: Object) -> None:
                await here.request("POST", core(here.namespace, "services"), body)

            before, began = here.processes.all(), time.monotonic()
            await each(domains, publish)
            await each(bodies, create)
            figures.created = await seen.until(lambda now: now.added >= gangs.pods) - began
            await seen.until(lambda now: len(now.running) >= gangs.pods)
            await here.processes.calm()  # the last names are written after the last pod runs
            figures.cpu = here.processes.since(before)

            async def delete(name: str) -> None:
                await daemon.request("DELETE", f"{pods}/{name}")

            began = time.monotonic()
            await each(made_pods, delete)
            figures.deleted = await seen.until(lambda now: now.deleted >= gangs.pods) - began
    finally:
        await daemon.aclose()
    return figures


async def muster(here: Site, gangs: Gangs, *, restart: bool) -> Figures:
    """Submit the experiments; with ``restart`` let one member fail when all run."""
    figures = Figures()
    async with watched(here.admin, here.namespace, LABEL_EPOCH) as seen:

        async def submit(name: str) -> None:
            await here.request("POST", here.experiments, experiment(name, here.namespace, gangs.members))

        before, began = here.processes.all(), time.monotonic()
        await each(gangs.names, submit)
        figures.created = await seen.until(lambda now: now.added >= gangs.pods) - began
        await seen.until(lambda now: len(now.running) >= gangs.pods)
        await _until_running(here, gangs)
        figures.cpu = here.processes.since(before)
        figures.writes["start"] = here.writes()
        if restart:
            failed = await fail_one(here)
            figures.restarted = await seen.until(lambda now: now.by_label.get("1", 0) >= gangs.pods) - failed
            await _until_running(here, gangs)
            figures.writes["restart"] = here.writes() - figures.writes["start"]
    return figures


async def fail_one(here: Site) -> float:
    """Write the status of a pod that exited 1, as its kubelet would; the monotonic time of that."""
    pods = core(here.namespace, "pods")
    found = await here.request("GET", pods)
    name = found["items"][-1]["metadata"]["name"]
    began = time.monotonic()
    await here.request("PATCH", f"{pods}/{name}/status", {"status": FAILED}, MERGE)
    return began


async def _until_running(here: Site, gangs: Gangs) -> None:
    """Wait until every experiment reports that it runs."""
    for name in gangs.names:
        path = f"{here.experiments}/{name}"
        began = time.monotonic()
        while (await here.request("GET", path)).get("status", {}).get("phase") != "Running":
            if time.monotonic() > began + 120:
                raise TimeoutError(f"{name} does not run")
            await asyncio.sleep(0.1)
