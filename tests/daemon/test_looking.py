"""What costs the budget is looked at past the cache: at once, and then in measure."""

import asyncio
from typing import Any

import msgspec
import pytest

from daemon.conductor import Conductor
from daemon.queue import Queue
from daemon.roster import Roster
from metrics.instruments import Instruments
from state.plan import Plan
from state.pod import Exit, PodPhase
from state.record import Phase
from state.status import to_status
from state.view import View
from tests.builders import NOW, pod, record
from tests.fuzz.samples import SPECS, experiment
from tests.fuzz.world import line_of
from tests.simulation.loop import VirtualLoop
from watchers.experiments import DECODER

UID = "uid-1"
RUNNING = record(phase=Phase.RUNNING, epoch=0, started_at=NOW, epoch_at=NOW, scheduled_at=NOW, assembled_at=NOW)


class Caches:
    """In step with everything. Looks past them are answered at ``version``."""

    synced = True
    pods_version = 1_000

    def __init__(self, version: int) -> None:
        self.version = version
        self.looks: list[float] = []

    async def look(self, plan: Plan, view: View) -> int:
        self.looks.append(asyncio.get_running_loop().time())
        return self.version


class Server:
    """Takes no write, and remembers that one was tried."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def request(self, method: str, path: str, **_: Any) -> Any:
        self.asked.append(f"{method} {path.rsplit('/', 1)[1]}")
        await asyncio.Event().wait()


async def ten_seconds(caches: Caches) -> list[str]:
    """What is asked of the API server when a member has failed, at resourceVersion 500."""
    loop, server = asyncio.get_running_loop(), Server()
    queue = Queue(lambda _: None)
    roster = Roster(wanted=queue.add, gone=queue.forget)
    unused: Any = None
    conductor = Conductor(
        transport=server,  # type: ignore[arg-type]
        roster=roster,
        queue=queue,
        caches=caches,
        engine=unused,
        probing=unused,
        announcer=unused,
        instruments=Instruments("0", lambda: 0, lambda: 0),
        clock=lambda: NOW + loop.time(),
        monotonic=loop.time,
    )
    seen = DECODER.event(line_of("ADDED", experiment(UID, "run", SPECS[0], 1, to_status(RUNNING)))).obj
    assert seen is not None
    roster.experiment_changed(None, seen)
    ended = Exit("main", 1, 0, "Error", "", NOW)
    failed = pod(0, phase=PodPhase.FAILED, exit=ended)
    roster.pod_changed(None, msgspec.structs.replace(failed, owner=UID, resource_version=500))
    worker = asyncio.create_task(queue.work(conductor.step, conductor.failed))
    await asyncio.sleep(10)
    worker.cancel()
    await asyncio.gather(worker, return_exceptions=True)
    queue.close()
    return server.asked


@pytest.mark.parametrize(
    ("version", "looks", "asked"),
    [(500, [0.0], ["PUT status"]), (499, [0.0, 0.0, *map(float, range(1, 10))], [])],
)
def test_a_look_that_settles_nothing_is_repeated_once_a_second(
    version: int, looks: list[float], asked: list[str]
) -> None:
    """As from an API server that was set back to an older state, until the watch has brought that, too."""
    loop, caches = VirtualLoop(), Caches(version)
    try:
        assert loop.run_until_complete(ten_seconds(caches)) == asked
    finally:
        loop.close()
    assert caches.looks == looks
