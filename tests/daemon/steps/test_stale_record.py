"""A stale record, read from a late watch, never costs a pod of a newer epoch."""

from typing import Any
from unittest.mock import AsyncMock, Mock

import msgspec
import pytest

from muster.api.errors import Conflict
from muster.daemon.experiments.index import ExperimentIndex
from muster.daemon.steps.controller import Controller
from muster.kube.transport import Answer
from muster.kube.workqueue import WorkQueue
from muster.reconcilers.result import Outcome
from muster.state.vocabulary.pod import PodPhase
from muster.state.vocabulary.record import to_status
from tests.builders import NOW, pod
from tests.daemon.experiments.test_index import UID, run
from tests.daemon.steps.test_live_reads import RUNNING, Caches, controller


class Server:
    """A server that takes status writes, or refuses them because the status is newer than the writer's version."""

    def __init__(self, *, newer: bool) -> None:
        self.newer = newer
        self.asked: list[str] = []

    async def request(self, method: str, path: str, **_: Any) -> Answer:
        self.asked.append(f"{method} {path.rsplit('/', 1)[1]}")
        if self.newer:
            raise Conflict("resourceVersion is 28, not 3", status=409)
        return Answer(200, msgspec.json.encode({"metadata": {"resourceVersion": "4"}}))


def controller_of(server: Server) -> tuple[Controller, AsyncMock]:
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
    server = Server(newer=True)
    controller, carry_out = controller_of(server)
    with pytest.raises(Conflict):
        await step(controller)
    assert server.asked == ["PUT status"]
    carry_out.assert_not_called()


async def test_a_record_that_can_be_written_is_not_stale_and_its_leftovers_are_deleted() -> None:
    """As after a status that was removed by hand."""
    server = Server(newer=False)
    controller, carry_out = controller_of(server)
    await step(controller)
    assert server.asked == ["PUT status"]
    assert carry_out.await_args_list[0].args[0].pods[0].epoch == 1
