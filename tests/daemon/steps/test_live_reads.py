"""Reads past the cache, for decisions that cost the budget; and that a stale record costs no pod."""

import asyncio
from typing import Any
from unittest.mock import AsyncMock, Mock

import msgspec
import pytest

from muster.api.errors import Conflict
from muster.daemon.experiments.index import ExperimentIndex
from muster.daemon.steps.controller import Controller
from muster.kube.fair_share import FairShare
from muster.kube.transport import Answer
from muster.kube.workqueue import WorkQueue
from muster.metrics.instruments import Instruments
from muster.reconcilers.result import Outcome
from muster.state.view.view import View
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Exit, PodPhase
from muster.state.vocabulary.record import Phase, to_status
from tests.builders import NOW, pod, record
from tests.daemon.experiments.test_index import UID, run
from tests.daemon.virtual_daemon import in_virtual_time

WRITTEN = 2_000
"""The version of our own write."""
RUNNING = record(phase=Phase.RUNNING, epoch=0, started_at=NOW, epoch_at=NOW, scheduled_at=NOW, assembled_at=NOW)


class Caches:
    """Caches with pods as of ``pods_version``. Live reads are answered at ``version``."""

    synced = True
    workloads_known = True
    workloads_version = 0
    queue_problem = ""

    def __init__(self, version: int, pods_version: int = 1_000) -> None:
        self.version = version
        self.pods_version = pods_version
        self.looks: list[float] = []

    async def read_live(self, plan: Plan, view: View) -> int:
        self.looks.append(asyncio.get_running_loop().time())
        return self.version

    def list_again(self, plural: str) -> None:
        raise AssertionError(f"{plural} have not gone back")


class SlowCaches(Caches):
    """Caches whose live read takes three seconds."""

    async def read_live(self, plan: Plan, view: View) -> int:
        version = await super().read_live(plan, view)
        await asyncio.sleep(3)
        return version


class Server:
    """A server that keeps the writes. It answers nothing, unless ``prompt``: then the watch delivers a write first."""

    def __init__(self, *, prompt: bool = False) -> None:
        self.prompt = prompt
        self.asked: list[str] = []
        self.index = ExperimentIndex(wanted=lambda uid: None, gone=lambda uid: None)

    async def request(self, method: str, path: str, *, body: bytes, **_: Any) -> Answer:
        self.asked.append(f"{method} {path.rsplit('/', 1)[1]}")
        if not self.prompt:
            await never()
        self.index.experiment_changed(None, run(WRITTEN, msgspec.json.decode(body)["status"]))
        return Answer(201, msgspec.json.encode({"metadata": {"resourceVersion": str(WRITTEN)}}))


def controller(**parts: Any) -> Controller:
    """Return a controller with these parts, which asks nothing of the others."""
    return Controller(
        share=FairShare(8),
        probers=Mock(),
        recorder=Mock(),
        instruments=Instruments("0", lambda: 0, lambda: 0),
        watched_synced=Mock(),
        heard_since=lambda _: 0.0,
        remarks=Mock(),
        **parts,
    )


async def never(*_: Any) -> None:
    await asyncio.Event().wait()


async def ten_seconds(caches: Caches, server: Server, found: int = 1) -> None:
    """Play ten seconds after a member failed at resourceVersion 500.

    An earlier leader wrote the record at version ``found``.
    """
    loop = asyncio.get_running_loop()
    queue, engine = WorkQueue(lambda _: None), Mock()
    engine.carry_out = AsyncMock(side_effect=never)
    index = server.index
    index.wanted, index.gone = queue.add, queue.forget
    deciding = controller(
        transport=server,
        index=index,
        queue=queue,
        informers=caches,
        engine=engine,
        clock=lambda: NOW + loop.time(),
        monotonic=loop.time,
    )
    index.experiment_changed(None, run(found, to_status(RUNNING)))
    ended = Exit("main", 1, 0, "Error", "", NOW)
    failed = pod(0, phase=PodPhase.FAILED, exit=ended)
    index.pod_changed(None, msgspec.structs.replace(failed, owner=UID, resource_version=500))
    worker = asyncio.create_task(queue.run(deciding.step, deciding.failed))
    await asyncio.sleep(10)
    worker.cancel()
    await asyncio.gather(worker, return_exceptions=True)
    queue.close()


@pytest.mark.parametrize(
    ("version", "looks", "asked"), [(500, [0.0], ["PUT status"]), (499, [0.0, 0.0, *map(float, range(1, 10))], [])]
)
def test_a_look_that_settles_nothing_is_repeated_once_a_second(
    version: int, looks: list[float], asked: list[str]
) -> None:
    """As with an API server that was set back to an older state, until the watch has delivered that, too."""
    caches, server = Caches(version), Server()
    in_virtual_time(ten_seconds(caches, server))
    assert (caches.looks, server.asked) == (looks, asked)


def test_a_live_read_is_as_old_as_the_request_of_its_list() -> None:
    """An event between the API server's answer and its arrival is not in the list."""
    caches, server = SlowCaches(500), Server()
    in_virtual_time(ten_seconds(caches, server))
    live_read = server.index.entries[UID].view.engine.live_read
    assert live_read is not None
    assert live_read.at == NOW


@pytest.mark.parametrize(
    ("cached", "looked", "asked"), [(400, 550, []), (400, 600, ["PUT status"]), (600, 550, ["PUT status"])]
)
def test_a_record_is_not_judged_with_pods_from_before_it_was_written(
    cached: int, looked: int, asked: list[str]
) -> None:
    caches, server = Caches(looked, cached), Server()
    in_virtual_time(ten_seconds(caches, server, found=600))
    assert server.asked == asked


def test_a_record_of_our_own_needs_no_look_though_the_watch_tells_of_it_before_the_answer() -> None:
    caches, server = Caches(WRITTEN), Server(prompt=True)
    in_virtual_time(ten_seconds(caches, server))
    assert server.index.entries[UID].freshness.version == WRITTEN
    assert server.index.entries[UID].freshness.object_version == 0
    assert caches.looks == [0.0]  # for the failure


class StatusServer:
    """A server that takes status writes, or refuses them because the status is newer than the writer's version."""

    def __init__(self, *, newer: bool) -> None:
        self.newer = newer
        self.asked: list[str] = []

    async def request(self, method: str, path: str, **_: Any) -> Answer:
        self.asked.append(f"{method} {path.rsplit('/', 1)[1]}")
        if self.newer:
            raise Conflict("resourceVersion is 28, not 3", status=409)
        return Answer(200, msgspec.json.encode({"metadata": {"resourceVersion": "4"}}))


def controller_of(server: StatusServer) -> tuple[Controller, AsyncMock]:
    index = ExperimentIndex(wanted=lambda uid: None, gone=lambda uid: None)
    engine = Mock()
    engine.carry_out = AsyncMock(return_value=Outcome())
    deciding = controller(
        transport=server,
        index=index,
        queue=WorkQueue(lambda _: None),
        informers=Caches(1_000),
        engine=engine,
        clock=lambda: NOW,
        monotonic=lambda: 0.0,
    )
    index.experiment_changed(None, run(3, to_status(RUNNING)))
    ended = pod(0, epoch=1, phase=PodPhase.SUCCEEDED)
    index.pod_changed(None, msgspec.structs.replace(ended, owner=UID))
    return deciding, engine.carry_out


async def step(controller: Controller) -> None:
    rest = controller.step(UID)
    assert rest is not None
    await rest


async def test_no_pod_of_a_newer_epoch_is_deleted_on_a_stale_record() -> None:
    server = StatusServer(newer=True)
    controller, carry_out = controller_of(server)
    with pytest.raises(Conflict):
        await step(controller)
    assert server.asked == ["PUT status"]
    carry_out.assert_not_called()


async def test_a_record_that_can_be_written_is_not_stale_and_its_leftovers_are_deleted() -> None:
    """As after a status that was removed by hand."""
    server = StatusServer(newer=False)
    controller, carry_out = controller_of(server)
    await step(controller)
    assert server.asked == ["PUT status"]
    assert carry_out.await_args_list[0].args[0].pods[0].epoch == 1
