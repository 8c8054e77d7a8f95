"""Fleets of 100,000 and of 1,000,000 tracked pods, 5,000 events a second, and the share of one core that this takes.

Everything from the socket to the queue is the daemon's own code (connection, reflectors, stores, experiment index,
queue, uvloop); only the controller's steps are empty. CPU is counted over a fixed number of events, without the CPU
that ordering them takes. The loop's lag is how late a timer fires, but at most the CPU that this process used
meanwhile: the rest is due to other processes. For the same reason events are ordered at most a few milliseconds ahead:
a daemon that did not get its core finds no backlog.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import IO

import uvloop

from benchmarks.harness.loop_lag import LAG_BUDGET
from benchmarks.harness.measuring import megabytes, serving
from benchmarks.harness.report import Result
from benchmarks.servers.fleet_server import EPOCH
from muster.daemon.experiments.error_boundary import ErrorBoundary
from muster.daemon.experiments.index import ExperimentIndex
from muster.daemon.informers import Informers
from muster.kube.authentication.credentials import ClusterAccess
from muster.kube.connection import Connection
from muster.kube.workqueue import WorkQueue

RATE = 5_000
ROUNDS, EVENTS = 24, 2_500
"""Rounds, and events of each; the best round counts."""
BEAT = 0.004
"""Seconds from one order of events to the next."""
AHEAD = 60
"""Most events that are ordered and not yet received."""


@dataclass(frozen=True, slots=True)
class Size:
    """A fleet, its gangs, and its budgets: share of a core, megabytes, and milliseconds of lag."""

    pods: int
    gang: int
    cpu: float
    memory: float
    lag: float


SIZES = (Size(100_000, 64, 0.3, 200.0, LAG_BUDGET), Size(1_000_000, 50, 0.5, 1_000.0, 50.0))
"""The largest cluster that is known has 130,000 nodes; 1,000,000 pods are 20,000 gangs of 50."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds of CPU for the list and for a round of events, megabytes, and milliseconds of lag (99th percentile)."""

    listing: float
    events: float
    peak: float
    lag: float


async def _beat(fleet: "Fleet", stdin: IO[str], lags: list[float], own: list[float]) -> None:
    """Order the events at their rate, and record how late each beat is because of this process's own work.

    The CPU of the beats themselves goes to ``own``.
    """
    loop = asyncio.get_running_loop()
    ordered, last = 0, loop.time()
    while True:
        used = time.process_time()
        await asyncio.sleep(BEAT)
        now, woken = loop.time(), time.process_time()
        lags.append(min(max(0.0, now - last - BEAT), woken - used))
        wanted, last = round((now - last) * RATE), now
        if number := min(wanted, AHEAD - (ordered - fleet.events), ROUNDS * EVENTS - ordered):
            ordered += number
            stdin.write(f"{number}\n")
            stdin.flush()
        own.append(time.process_time() - woken)


class Fleet:
    """The daemon from the socket to the queue."""

    def __init__(self, connection: Connection, pods: int) -> None:
        self._listed = pods
        self.queue = WorkQueue()
        self.index = ExperimentIndex(wanted=self.queue.add, gone=self.queue.forget)
        self._reached: tuple[Callable[[], bool], asyncio.Event] | None = None
        self.caches = Informers(
            connection,
            self.index,
            ErrorBoundary(self.index, lambda _place: None),
            namespace="",
            monotonic=time.monotonic,
            random=Random(1),
            sleep=asyncio.sleep,
            advanced=self._advanced,
        )

    @property
    def events(self) -> int:
        """Return events received since the list."""
        return self.caches.pods_version - self._listed

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until the condition holds of the caches."""
        event = asyncio.Event()
        self._reached = condition, event
        self._advanced(0)
        await event.wait()
        self._reached = None

    def step(self, uid: str) -> None:
        """Decide nothing."""

    def failed(self, _uid: str, error: Exception) -> float | None:
        """Return None: no step fails here."""
        raise error

    def _advanced(self, _version: int) -> None:
        if self._reached is not None and self._reached[0]():
            self._reached[1].set()


async def measure(size: Size) -> Measured:
    """List everything, then follow the events."""
    lags: list[float] = []
    own: list[float] = []
    rounds: list[tuple[float, float]] = []
    with serving("fleet_server", size.pods, size.gang) as (url, stdin):  # which takes orders of events
        connection = await Connection.open(ClusterAccess(url))
        fleet = Fleet(connection, size.pods)
        began = time.process_time()
        tasks: list[asyncio.Task[None]] = [
            asyncio.create_task(reflector.run(), name=f"watch {name}")
            for name, reflector in fleet.caches.reflectors.items()
        ]
        tasks.append(asyncio.create_task(fleet.queue.run(fleet.step, fleet.failed), name="steps"))
        await fleet.until(lambda: fleet.caches.synced)
        assert fleet.index.pods == size.pods
        members = sum(entry.view.of(EPOCH).pods for entry in fleet.index.entries.values())
        assert members == size.pods, "else they are not counted"
        await asyncio.sleep(1.0)
        listed = time.process_time() - began
        tasks.append(asyncio.create_task(_beat(fleet, stdin, lags, own), name="beat"))
        for number in range(1, ROUNDS + 1):
            lags.clear()
            own.clear()
            began = time.process_time()
            await fleet.until(lambda due=number * EVENTS: fleet.events >= due)  # type: ignore[misc]
            rounds.append((time.process_time() - began - sum(own), sorted(lags)[int(len(lags) * 0.99)] * 1e3))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await connection.aclose()
        peak = megabytes(await asyncio.to_thread(Path("/proc/self/status").read_text), "VmHWM")
    return Measured(listed, min(cpu for cpu, _ in rounds), peak, min(lag for _, lag in rounds))


def run() -> list[Result]:
    """Measure each fleet in a process of its own, so that its memory is its own."""
    results = []
    for number, size in enumerate(SIZES):
        command = [sys.executable, "-m", "benchmarks.fleet", str(number)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=900)
        measured = Measured(**json.loads(done.stdout.splitlines()[-1]))  # after what was logged
        share = measured.events / (EVENTS / RATE)
        what = f"{size.pods:,} pods"
        at = f"{what}, {RATE:,} events/s"
        results += [
            Result(f"first list, CPU, {what}", measured.listing, "s"),
            Result(f"share of one core, {at}", share, "cores", size.cpu),
            Result(f"CPU per event, {at}", measured.events / EVENTS * 1e6, "us"),
            Result(f"resident memory at its highest, {at}", measured.peak, "MB", size.memory),
            Result(f"loop lag p99, {at}", measured.lag, "ms", size.lag),
        ]
    return results


if __name__ == "__main__":
    print(json.dumps(asdict(uvloop.run(measure(SIZES[int(sys.argv[1])])))))
