"""How often the daemon writes: the requests of a clean run that change an object, counted at the API server.

The run happens in memory and in daemon time, so that an hour of training passes in a second. Events are counted apart:
the budget is for the writes that an experiment needs.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass

from benchmarks.harness.daemon_time import DaemonTime
from benchmarks.harness.result import Result
from benchmarks.servers.world import World

STATUS_WRITES = 8
HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Run:
    """A clean run of ``size`` members, of which one starts every ``pace`` seconds."""

    size: int
    pace: float

    @property
    def assembly(self) -> float:
        """Seconds until all ranks have arrived."""
        return 5.0 + self.size * self.pace


@dataclass(frozen=True, slots=True)
class Counted:
    """Writes of the whole run by method and resource, and writes in an hour of training and an hour after the end."""

    whole: Counter[tuple[str, str]]
    training: int
    over: int


RUNS = (Run(64, 0.1), Run(512, 1.2))


async def count(run: Run) -> Counted:
    """Count from the experiment's creation until an hour after its success."""
    world = World(run.size, delay=lambda rank: 2.0 + rank * run.pace)
    writes = world.api.writes
    async with world.daemon():
        path = world.submit(1)
        await asyncio.sleep(run.assembly + HOUR)
        assert world.api.get(path)["status"]["phase"] == "Running"
        before = writes.total()
        await asyncio.sleep(HOUR)
        training = writes.total() - before
        for pod in world.pods(1):
            world.succeed(pod)
            await asyncio.sleep(run.pace)
        await asyncio.sleep(60.0)
        assert world.api.get(path)["status"]["phase"] == "Succeeded"
        before = writes.total()
        await asyncio.sleep(HOUR)
    return Counted(writes, training, writes.total() - before)


def run() -> list[Result]:
    """Measure a gang that assembles within seconds and a large one that takes minutes."""
    results = []
    for each in RUNS:
        with asyncio.Runner(loop_factory=DaemonTime) as runner:
            counted = runner.run(count(each))
        events = counted.whole["POST", "events"]
        total = counted.whole.total() - events
        statuses, stable = counted.whole["PUT", "status"], counted.training + counted.over
        what = f"{each.size} pods assembling over {each.assembly:.0f} s"
        results += [
            Result.of(f"API writes of a clean run, {what}", total, "writes", each.size + 1 + STATUS_WRITES),
            Result.of(f"status writes of it, {what}", statuses, "writes", STATUS_WRITES),
            Result.of(f"Events of it, {what}", events, "writes"),
            Result.of(f"API writes in two hours without changes, {what}", stable, "writes", 0),
        ]
    return results
