"""Every row of the catalogue, asked of a real musterd over a life with all that is measured.

The daemon is a process of its own, with ``--leader-elect``. The API server runs in this process, so that the test can
be the kubelets, and can take a right away; the coordinator is a fake one on an address of loopback of its own.
"""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from muster.api.names import API_VERSION, JAX_PORT, KIND, LABEL_EPOCH, LABEL_RANK, PLURAL, QUEUE_LABEL
from muster.api.schema.crd import custom_resource_definition
from muster.cli.processes.stack import Child, free_port, module
from muster.local.apiserver import ApiError, ApiServer, WriteOptions
from muster.local.apiserver.http.request_handler import RequestHandler
from muster.local.apiserver.objects.write_preparation import DeleteOptions
from muster.local.home import write_kubeconfig
from muster.metrics.catalogue import CATALOGUE
from muster.metrics.exposition import OPENMETRICS
from muster.metrics.rows.row import Type
from muster.state.facts.nodes.history import KEY, Failure, History
from tests.fakes.coordinator import FakeCoordinator
from tests.processes.forked import start_child

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(500)]

SIZE = 2
TEAM, RUN = "default", "run"
FAST = ("--lease-duration", "3", "--renew-deadline", "2", "--retry-period", "0.3")
SETTINGS = ("--kueue", "--leader-elect", "--node-history", "--owner-labels", "team", *FAST)
HOST = "127.83.7.19"
Scrape = dict[tuple[str, frozenset[tuple[str, str]]], float]


@dataclass
class Life:
    """The cluster, the daemon, and what was scraped of it."""

    api: ApiServer
    url: str
    command: list[str]
    log: Path
    daemon: Child | None = None
    denied: set[tuple[str, str]] = field(default_factory=set)
    """Method and last part of the path of requests for which musterd has no right."""
    names: set[str] = field(default_factory=set)
    """Of every sample that was ever scraped."""

    async def start_daemon(self) -> None:
        """Start musterd, and wait until it leads."""
        self.daemon = await start_child("daemon", self.command, self.log)
        async with asyncio.timeout(60), aiohttp.ClientSession() as session:
            while True:
                try:
                    async with session.get(f"{self.url}/readyz") as answer:
                        if "leading" in await answer.text():
                            return
                except aiohttp.ClientConnectionError:
                    assert self.daemon.process.returncode is None
                await asyncio.sleep(0.1)

    async def kill_daemon(self) -> None:
        """SIGKILL."""
        assert self.daemon is not None
        self.daemon.process.kill()
        await self.daemon.process.wait()

    async def stop_daemon(self) -> None:
        """SIGTERM, and wait."""
        if self.daemon is not None:
            await self.daemon.stop()

    def submit(self, name: str, queue: str = "", **spec: Any) -> None:
        """Create an experiment."""
        gpus = {"gpu": {"count": 4, "type": "gpu", "product": "A100"}}
        worker = {"count": SIZE, "resources": {"cpus": 1, "ramRatio": 2, "accelerators": gpus}}
        usual = {"operator": "jax", "image": "x", "command": "train", "types": {"worker": worker}, "timeout": "1h"}
        usual["restartPolicy"] = {"backoffLimit": 3, "backoff": {"initial": "1s"}}
        meta = {"name": name, "labels": {"team": "vision", **({QUEUE_LABEL: queue} if queue else {})}}
        body = {"apiVersion": API_VERSION, "kind": KIND, "metadata": meta, "spec": {**usual, **spec}}
        self.api.store.create(self.api.store.resource(API_VERSION, PLURAL), TEAM, body)

    def pods(self, epoch: int) -> dict[int, dict[str, Any]]:
        """The pods of an epoch by rank."""
        found = (each.object() for each in self.api.store.list(self.api.store.resource("v1", "pods"), TEAM))
        labelled = ((pod, pod["metadata"]["labels"]) for pod in found)
        return {int(labels[LABEL_RANK]): pod for pod, labels in labelled if labels[LABEL_EPOCH] == str(epoch)}

    def play(self, pod: dict[str, Any], **status: Any) -> None:
        """Be the kubelet of a pod."""
        pods = self.api.store.resource("v1", "pods")
        name = pod["metadata"]["name"]
        options = WriteOptions(subresource="status")
        self.api.store.patch(pods, TEAM, name, lambda now: {**now, "status": {**now["status"], **status}}, options)

    def start(self, pod: dict[str, Any]) -> None:
        """Its program runs."""
        state = {"name": "main", "ready": True, "restartCount": 0, "image": "x", "imageID": ""}
        bound = self.api.store.get(self.api.store.resource("v1", "pods"), TEAM, pod["metadata"]["name"])
        placed = bound.object()
        placed["spec"]["nodeName"] = "n0"  # as a binding does
        self.api.store.versions.put(bound.group_resource, placed)
        self.play(
            pod,
            phase="Running",
            podIP=HOST,
            containerStatuses=[{**state, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}],
            conditions=[{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}],
        )

    def end(self, pod: dict[str, Any], code: int, *conditions: dict[str, str]) -> None:
        """Its program ends."""
        ended = {"exitCode": code, "reason": "Error" if code else "Completed"}
        state = {"name": "main", "ready": False, "restartCount": 0, "image": "x", "imageID": ""}
        self.play(
            pod,
            phase="Failed" if code else "Succeeded",
            containerStatuses=[{**state, "state": {"terminated": ended}}],
            conditions=[{"type": "PodScheduled", "status": "True"}, *conditions],
        )

    async def bury(self) -> None:
        """Remove pods that are being deleted, as kubelets do."""
        pods = self.api.store.resource("v1", "pods")
        while True:
            for stored in self.api.store.list(pods, TEAM):
                meta = stored.object()["metadata"]
                if "deletionTimestamp" in meta:
                    self.api.store.delete(pods, TEAM, meta["name"], DeleteOptions(grace=0))
            await asyncio.sleep(0.1)

    async def launched(self, epoch: int) -> dict[int, dict[str, Any]]:
        """The pods of an epoch, once all are there."""
        async with asyncio.timeout(30):
            while len(pods := self.pods(epoch)) < SIZE:  # noqa: ASYNC110 - another process makes them
                await asyncio.sleep(0.1)
        return pods

    async def scrape(self) -> Scrape:
        """All series."""
        headers = {"Accept": OPENMETRICS}
        async with aiohttp.ClientSession() as session, session.get(f"{self.url}/metrics", headers=headers) as answer:
            text = await answer.text()
        found = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }
        self.names |= {name for name, _ in found}
        return found

    async def until(self, holds: Callable[[Scrape], bool]) -> Scrape:
        """Scrape until that is true."""
        async with asyncio.timeout(100):
            while not holds(found := await self.scrape()):  # noqa: ASYNC110 - the daemon is another process
                await asyncio.sleep(0.2)
        return found


def one(found: Scrape, name: str, experiment: str = RUN, **labels: str) -> float | None:
    """A series of an experiment."""
    key = {"namespace": TEAM, "experiment": experiment} | labels
    return found.get((f"muster_experiment_{name}", frozenset(key.items())))


def total(found: Scrape, name: str, **labels: str) -> float | None:
    """Any other series."""
    return found.get((f"muster_{name}", frozenset(labels.items())))


def of_yesterday(now: float) -> str:
    """What an earlier leader has stored of nodes: that one of them failed seven runs of four namespaces."""
    history = History()
    for number in range(40):
        history.served(f"team-{number % 4}", {f"gpu-{number:03}": 3.0}, now)
    for number in range(7):
        at = int(now - 5 * 3600 + number * 2000)
        found = Failure(at, f"team-{number % 4}", f"run-{number}", "u.0", "Error", False, at)
        history.failed("gpu-017", found, now)
    return history.stored().decode()


@asynccontextmanager
async def life(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Life]:
    """The cluster and a daemon that leads, for the duration of the block."""
    token, port = secrets.token_urlsafe(32), free_port()
    api = ApiServer(None, token=token)
    kubeconfig = folder / "kubeconfig"
    address = ("--http-host", "127.0.0.1", "--http-port", str(port))
    command = module("muster.daemon.main", "--kubeconfig", str(kubeconfig), *address, *SETTINGS)
    here = Life(api, f"http://127.0.0.1:{port}", command, folder / "daemon.log")
    route = RequestHandler._route  # noqa: SLF001

    async def limited(self: RequestHandler, request: web.BaseRequest) -> web.StreamResponse:
        kind = request.method, request.path.rpartition("/")[2]
        if kind in here.denied:
            said = f'{kind[1]} is forbidden: User "musterd" cannot create resource "{kind[1]}" in API group ""'
            raise ApiError(403, "Forbidden", said)
        return await route(self, request)

    monkeypatch.setattr(RequestHandler, "_route", limited)
    async with AsyncExitStack() as stack:
        write_kubeconfig(kubeconfig, url=await api.start(), token=token)
        stack.push_async_callback(api.stop)
        crd = custom_resource_definition()
        kinds = api.store.resource("apiextensions.k8s.io/v1", "customresourcedefinitions")
        api.store.ensure(kinds, "", crd)
        stored = {"metadata": {"name": "musterd-nodes"}, "data": {KEY: of_yesterday(time.time())}}
        api.store.ensure(api.store.resource("v1", "configmaps"), "default", stored)
        stack.push_async_callback(here.stop_daemon)
        burying = asyncio.create_task(here.bury(), name="bury")
        try:
            await here.start_daemon()
            yield here
        finally:
            burying.cancel()
            await asyncio.gather(burying, return_exceptions=True)


async def test_every_row_of_the_catalogue_is_on_the_page_of_a_live_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with life(tmp_path, monkeypatch) as here, FakeCoordinator(SIZE, port=JAX_PORT, host=HOST) as coordinator:
        before = await here.until(lambda found: total(found, "node_suspect_runs", node="gpu-017") == 7)
        assert total(before, "gang_restarts_total", operator="jax", reason="Error") == 0, "no counter is born later"
        assert total(before, "disruptions_total", operator="jax", reason="PreemptionByScheduler") == 0

        # Rank 1 does not arrive.
        here.submit(RUN)
        for pod in (await here.launched(0)).values():
            here.start(pod)
        coordinator.arrive(0)
        stuck = await here.until(lambda found: one(found, "stuck") == 1)
        assert one(stuck, "stuck_reason", reason="RanksMissing", audience="researcher") == 1
        assert one(stuck, "ranks_missing") == one(stuck, "ranks_missing_by_cause", cause="NotArrived") == 1
        assert one(stuck, "coordinator_up") == one(stuck, "coordinator_state", state="serving") == 1
        assert one(stuck, "accelerators", resource="nvidia.com/gpu") == 8
        assert (one(stuck, "clock_limit_seconds", clock="total") or 0) == 3600
        assert 0 < (one(stuck, "clock_remaining_seconds", clock="total") or 0) < 3600
        follows = [one(stuck, "clock_action", clock="total", action=action) for action in ("Alert", "Fail", "Restart")]
        assert follows == [0, 1, 0]
        idle = {"resource": "nvidia.com/gpu", "reason": "RanksMissing"}
        await here.until(lambda found: (total(found, "accelerator_stuck_seconds_total", **idle) or 0) > 0)
        coordinator.arrive(1)
        found = await here.until(lambda found: one(found, "phase", phase="Running") == 1)
        assert one(found, "restarts_total", reason="Error") == 0, "nor one of an experiment"
        assert (
            one(found, "phase", phase="Assembling")
            == one(found, "stuck_reason", reason="RanksMissing", audience="researcher")
            == 0
        )
        await here.until(lambda found: (one(found, "productive_seconds_total") or 0) > 1)

        # Its ranks report steps.
        coordinator.store["muster/progress/0"] = coordinator.store["muster/progress/1"] = b'{"step":1,"at":1}'
        await here.until(lambda found: one(found, "step") == 1)
        seconds = count(1)

        def ten_steps_more(found: Scrape) -> bool:
            """Both ranks report again: ten steps in one second of their clock. Then whether that rate is shown."""
            second = next(seconds)
            report = f'{{"step":{1 + 10 * second},"calls":{1 + second},"at":{1 + second}}}'.encode()
            coordinator.store["muster/progress/0"] = coordinator.store["muster/progress/1"] = report
            return one(found, "steps_per_second") == 10

        found = await here.until(ten_steps_more)
        assert (one(found, "step") or 0) % 10 == 1
        assert (one(found, "straggler_ranks"), one(found, "hung_after_seconds")) == (0, 60)
        assert one(found, "last_step_timestamp_seconds") is not None

        # They make no step for a minute.
        found = await here.until(lambda found: "muster_experiment_hang_info" in {name for name, _ in found})
        hang = next(dict(labels) for name, labels in found if name == "muster_experiment_hang_info")
        assert hang["message"].startswith("no step since ")

        # It fails: the gang restarts. Then its node is taken.
        here.end(here.pods(0)[1], 1)
        await assemble(here, coordinator, 1)
        found = await here.until(lambda found: one(found, "phase", phase="Running") == 1)
        assert one(found, "gang_restarts_total") == 1
        assert total(found, "gang_restarts_total", operator="jax", reason="Error") == 1
        assert total(found, "restart_downtime_seconds_count", operator="jax") == 1
        assert total(found, "time_to_assembled_seconds_count", operator="jax") == 2
        assert 1 < (one(found, "productive_seconds_total") or 0) < (one(found, "wall_seconds_total") or 0)
        preempted = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
        here.end(here.pods(1)[0], 143, preempted)
        await assemble(here, coordinator, 2)
        found = await here.until(lambda found: one(found, "disruptions_total") == 1)
        assert total(found, "disruptions_total", operator="jax", reason="PreemptionByScheduler") == 1

        # The daemon is killed: what is counted of the experiment goes on.
        found = await here.until(lambda found: one(found, "phase", phase="Running") == 1)
        await here.kill_daemon()
        await here.start_daemon()
        after = await here.until(lambda found: one(found, "phase", phase="Running") == 1)
        assert (one(after, "gang_restarts_total"), one(after, "disruptions_total")) == (2, 1)
        assert one(after, "restarts_total", reason="Error") == 1
        assert one(after, "restarts_total", reason="PreemptionByScheduler") == 1
        for name in ("wall_seconds_total", "productive_seconds_total"):
            assert (one(after, name) or 0) > (one(found, name) or 0)
        assert one(after, "stuck_reason", reason="RanksMissing", audience="researcher") == 0
        assert total(after, "gang_restarts_total", operator="jax", reason="Error") == 0, "a counter of this process"

        # Another experiment is refused, because a right is missing, until it is there; a third one cannot be planned.
        here.denied.add(("POST", "pods"))
        for name in ("refused", "refused-2", "refused-3"):
            here.submit(name, types={"worker": {"count": 1, "resources": {"cpus": 1, "ramRatio": 2}}})
        here.submit("queued", queue="gpus")  # Kueue is not installed
        await here.until(lambda _: "muster_experiment_queued_seconds_total" in here.names)

        unreadable = {"name": "broken", "action": "Ignore", "onMessagePatterns": ["("]}  # the CRD reads no pattern
        here.submit("invalid", failurePolicy={"rules": [unreadable]})
        found = await here.until(lambda found: total(found, "rights_missing", verb="create", resource="pods") == 1)
        assert one(found, "stuck_reason", "refused", reason="RightsMissing", audience="platform") == 1
        assert one(found, "ranks_missing_by_cause", "refused", cause="Refused") == 1
        assert (total(found, "refusals_total", reason="RightsMissing") or 0) >= 3
        found = await here.until(lambda found: one(found, "explained", "refused") == 1)
        incident = {
            "kind": "right",
            "subject": 'create resource "pods"',
            "cause": "RightsMissing",
            "audience": "platform",
        }
        assert total(found, "incident_runs", **incident, scope=f"namespace/{TEAM}") == 3
        here.denied.clear()
        await here.until(lambda found: total(found, "rights_missing", verb="create", resource="pods") == 0)

        # The run ends.
        for pod in here.pods(2).values():
            here.end(pod, 0)
        found = await here.until(lambda found: one(found, "phase", phase="Succeeded") == 1)
        assert one(found, "wall_seconds_total") is None, "a finished experiment keeps its info and its phase"
        ended = {"outcome": "Succeeded", "reason": "AllMembersSucceeded"}
        assert total(found, "outcomes_total", operator="jax", **ended) == 1
        invalid = {"operator": "_invalid", "outcome": "Failed", "reason": "InvalidSpec"}
        assert total(found, "outcomes_total", **invalid) == 1

        expected = {row.name + ("_count" if row.type is Type.HISTOGRAM else "") for row in CATALOGUE}
        assert expected - here.names == set(), "rows that a live daemon never exported"
        assert {"process_cpu_seconds_total", "process_resident_memory_bytes", "python_info"} <= here.names
        declared = {row.name for row in CATALOGUE}
        foreign = {name for name in here.names if name.startswith("muster_")} - declared
        assert {name.rpartition("_")[2] for name in foreign} == {"bucket", "count", "sum"}


async def assemble(here: Life, coordinator: FakeCoordinator, epoch: int) -> None:
    """The next epoch starts, and its members meet."""
    pods = await here.launched(epoch)
    await coordinator.restart()
    for pod in pods.values():
        here.start(pod)
    coordinator.arrive(*range(SIZE))
