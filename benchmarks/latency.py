"""How long the daemon takes to answer a failure, with 200 experiments of 64 pods each.

A latency is in daemon time (see ``harness.daemon_time``). It runs from the watch event with the first failed container
to the last DELETE of the old epoch's pods; in between are one LIST of them and one status write. Every experiment fails
once, while pods of the others change as well. At the end all of them fail at the same instant, as in a power cut.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any
from unittest.mock import patch

from benchmarks.harness.daemon_time import DaemonTime
from benchmarks.harness.result import Result
from benchmarks.servers.world import World
from benchmarks.writes import STATUS_WRITES
from muster.state.decide.machine import Decision, decide

EXPERIMENTS, MEMBERS = 200, 64
BUDGET = 200.0
"""Milliseconds, 99th percentile."""
NOISE = 32
"""Pods of other experiments that change right before each failure."""
APART = 0.5
"""Seconds from one failure to the next."""
PATIENCE = 120.0
"""Seconds of daemon time in which all failures at once must be answered."""
FAILED_AT = "2027-01-15T08:30:00Z"


@dataclass(slots=True)
class Watched:
    """When each experiment failed, was decided on, and had its pods deleted, in daemon time."""

    clock: Any
    expected: int
    """Deletes per experiment."""
    failed: dict[str, float] = field(default_factory=dict)
    decided: dict[str, float] = field(default_factory=dict)
    deleted: dict[str, list[float]] = field(default_factory=dict)
    deletes: int = 0
    done: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when all ``expected`` deletes are issued."""
    cpu: list[float] = field(default_factory=list)
    """CPU seconds of every decision."""

    def asked(self, method: str, _resource: str, path: str) -> None:
        """The daemon issues a request."""
        if method == "DELETE":
            _, number, *_ = path.rsplit("/", 1)[1].split("-")
            self.deleted.setdefault(number, []).append(self.clock())
            self.deletes += 1
            if self.deletes == self.expected * EXPERIMENTS:
                self.done.set()

    def decide(self, *arguments: Any, **options: Any) -> Decision:
        """Decide, and record when and at what cost."""
        number, now = arguments[0].name.removeprefix("run-"), self.clock()
        began = time.process_time()
        decision = decide(*arguments, **options)
        self.cpu.append(time.process_time() - began)
        if number in self.failed and not decision.read_first:
            self.decided.setdefault(number, now)
        return decision

    def milliseconds(self) -> tuple[list[float], list[float]]:
        """From the failure to the decision, and to the last delete, of every experiment; sorted."""
        for number, deletes in self.deleted.items():
            assert len(deletes) == self.expected, f"run-{number}: {len(deletes)} deletes instead of {self.expected}"
        assert set(self.deleted) == set(self.failed)
        return (
            sorted((self.decided[number] - at) * 1e3 for number, at in self.failed.items()),
            sorted((max(self.deleted[number]) - at) * 1e3 for number, at in self.failed.items()),
        )


@dataclass(frozen=True, slots=True)
class Measured:
    """The failures one by one, and all at once."""

    single: Watched
    at_once: Watched
    writes: float
    """Per experiment with one gang restart."""


async def measure() -> Measured:
    """Start all experiments, let each fail and restart, then let all fail."""
    random = Random(1)
    world = World(MEMBERS, delay=lambda rank: 2.0 + rank * 0.05)
    clock = asyncio.get_running_loop().time
    single, at_once = (
        Watched(clock, MEMBERS - 1),
        Watched(clock, MEMBERS),
    )  # the last epoch deletes the first cause's pod too
    numbers = range(EXPERIMENTS)
    paths = [world.submit(number) for number in numbers]

    def all_run(epoch: int) -> None:
        for path in paths:
            status = world.api.get(path)["status"]
            assert (status["phase"], status["epoch"]) == ("Running", epoch), status

    async with world.daemon():
        await asyncio.sleep(120.0)
        all_run(0)
        world.asked = single.asked
        with patch("muster.daemon.steps.controller.decide", single.decide):
            for number in numbers:
                _noise(world, random, number)
                single.failed[str(number)] = clock()
                world.fail(random.choice(world.pods(number)), FAILED_AT)
                await asyncio.sleep(APART)
        await asyncio.sleep(120.0)
        all_run(1)
        writes = world.api.writes.total() - world.api.writes["POST", "events"]
        world.asked = at_once.asked
        with patch("muster.daemon.steps.controller.decide", at_once.decide):
            at_once.failed = dict.fromkeys(map(str, numbers), clock())
            for number in numbers:
                world.fail(random.choice(world.running(number)), FAILED_AT)
            with suppress(TimeoutError):  # ``milliseconds`` names the missing deletes
                async with asyncio.timeout(PATIENCE):
                    await at_once.done.wait()
    return Measured(single, at_once, writes / EXPERIMENTS)


def _noise(world: World, random: Random, failing: int) -> None:
    """Change pods of other experiments."""
    for _ in range(NOISE):
        other = random.randrange(EXPERIMENTS)
        if other != failing:
            world.touch(random.choice(world.pods(other)))


def percentile(ordered: Sequence[float], part: float) -> float:
    """The value below which that part of the values lies."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def run() -> list[Result]:
    """Measure one life of the 200 experiments."""
    with asyncio.Runner(loop_factory=DaemonTime) as runner:
        measured = runner.run(measure())
    what = f"{EXPERIMENTS} experiments of {MEMBERS}"
    results = []
    for watched, how, budget in ((measured.single, "one fails", BUDGET), (measured.at_once, "all fail at once", None)):
        decided, deleted = watched.milliseconds()
        for name, times, limit in (
            ("failure to decision", decided, None),
            ("failure to last delete issued", deleted, budget),
        ):
            for part in (0.5, 0.99):
                value = percentile(times, part)
                named = f"{name}, {how}, p{part * 100:.0f}, {what}"
                results.append(Result.of(named, value, "ms", limit if part == 0.99 else None))
    cpu = sorted(measured.single.cpu)
    for part in (0.5, 0.99):
        named = f"decision while they fail, CPU, p{part * 100:.0f}, {what}"
        results.append(Result.of(named, percentile(cpu, part) * 1e6, "us"))
    name = f"API writes of an experiment with one restart, {MEMBERS} pods"
    results.append(Result.of(name, measured.writes, "writes", _writes_budget()))
    return results


def _writes_budget() -> float:
    """A clean start (pods, Service, status) and a gang restart (deletes, pods, five others)."""
    return (MEMBERS + 1 + STATUS_WRITES) + (2 * MEMBERS + 5)
