"""The soak: thousands of experiments come, fail and go, in virtual time, under one life of the daemon.

They come in waves of fifty. A third fails for good, a third fails once and then succeeds, a third is deleted while it
runs. When a wave has gone, nothing of it may stay: no memory, task, watch, series, file or entry.
"""

import asyncio
import gc
import sys
from dataclasses import dataclass
from pathlib import Path
from types import AsyncGeneratorType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any, TypeVar

from prometheus_client import generate_latest

from muster.daemon.app import Daemon
from muster.kube.paths import experiment
from tests.fakes.history import collections_of
from tests.simulation.oracles.invariants import OVER
from tests.simulation.oracles.own_writes import OwnWrites
from tests.simulation.plans.plan import Plan
from tests.simulation.scenarios.scenario import EVER, Dies, End, Scenario
from tests.simulation.world.process import Process
from tests.simulation.world.user_actions import NAMESPACE, People
from tests.simulation.world.world import World

WAVE = 50
GROWTH = 1.05
"""The memory at the end, over that when warm."""
LIFE = 300.0
"""Seconds a wave may take."""
ROOMS = ("muster", "state", "watchers", "reconcilers", "metrics", "daemon")
NOT_HELD = (type, ModuleType, CodeType, FrameType, AsyncGeneratorType, asyncio.AbstractEventLoop)
"""Where the search for what is held ends. (The generators are the streams of the world's API server.)"""
SOAK = Scenario("soak", End("Succeeded"), spec={"restartPolicy": {"backoffLimit": 1}}, run=5.0)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Footprint:
    """What the daemon holds when there is nothing to do. ``memory`` in bytes, without what the world itself holds."""

    memory: int
    tasks: int
    watches: int
    series: int
    files: int
    entries: int


class Crowd(People):
    """People who come in waves."""

    def invite(self) -> None:
        """Nobody comes by himself."""


class Soak(World):
    """A world in which wave follows wave."""

    def __init__(self, experiments: int) -> None:
        super().__init__(Plan("happy", 1))
        self.scenario = SOAK
        self.people = Crowd(self)
        self.footprints: list[Footprint] = []
        """At three fifths, when it is warm, and in the end. Of each kind the last 4,096 dead are remembered, in a table
        that has its full size after 5,461."""
        self.ended = dict.fromkeys(OVER, 0)
        self._waves = experiments // WAVE
        self._forgotten = 0

    def befalls(self, process: Process, *kinds: type[T]) -> list[T]:
        """Two of three fail: one of them in every epoch."""
        epochs = (EVER, range(1), range(0))[_number(process.called) % 3]
        dies: Any = Dies(rank=0, epochs=epochs, after=2.0, experiment=process.called)
        return [dies] if Dies in kinds and process.epoch in epochs else []

    async def _rest(self) -> None:
        for wave in range(self._waves):
            names = [f"run-{wave * WAVE + each}" for each in range(WAVE)]
            for name in names:
                self.people.submit(name)
            await asyncio.sleep(4.0)
            for name in names:
                if _number(name) % 3 == 2:
                    self.api.delete(experiment(NAMESPACE, name))
            await self._over()
            for obj in self.experiments():
                self.ended[obj["status"]["phase"]] += 1
                self.api.delete(experiment(NAMESPACE, obj["metadata"]["name"]))
            await asyncio.sleep(60.0)  # what is collected takes its grace, and the daemon hears of it
            self._forget()
            if wave + 1 in (self._waves * 3 // 5, self._waves):
                self.footprints.append(self._footprint())

    async def _over(self) -> None:
        end = self.loop.time() + LIFE
        while any((obj.get("status") or {}).get("phase") not in OVER for obj in self.experiments()):
            if self.loop.time() > end:
                self.violate(f"a wave is not over after {LIFE:g} s")
                return
            await asyncio.sleep(1.0)

    def _forget(self) -> None:
        """The world itself keeps everything that ever happened, for its oracles. Here that would be what grows."""
        changes = self.api.history.changes
        for change in changes[self._forgotten :]:
            change.kind, change.path, change.before, change.after = "DELETED", "", None, {}
            change._body, change._lines = b"", {}
        self._forgotten = len(changes)
        collections_of.cache_clear()
        for path in [path for path in self.api.objects if "/events/" in path]:
            del self.api.objects[path]
        if self.api.objects:
            self.violate(f"objects are left: {sorted(self.api.objects)[:4]}")
        for kept in (self.api.requests, self.writes, self.facts, self.invariants.told, self.kubelet.processes):
            kept.clear()
        self.lives[-1].door.own = OwnWrites(self)

    def _footprint(self) -> Footprint:
        daemon = self.lives[-1].daemon
        assert daemon is not None
        series = sum(not line.startswith(b"#") for line in generate_latest(daemon.instruments.registry).splitlines())
        return Footprint(
            memory=held_by(daemon),
            tasks=len(asyncio.all_tasks()),
            watches=len(self.api.watches),
            series=series,
            files=len(list(Path("/proc/self/fd").iterdir())),
            entries=len(daemon.roster) + len(daemon.roster.views) + len(daemon.queue) + daemon.roster.pods,
        )


def soak(experiments: int) -> Soak:
    """Play it; what is wrong with it is in ``violations``."""
    world = Soak(experiments)
    world.play()
    if not world.violations:
        world.violations += leaks(*world.footprints)
    return world


def held_by(daemon: Daemon) -> int:
    """Bytes of everything that can be reached from the daemon and from the variables of our modules.

    Caches of functions count, too: each is bounded (``tests/fuzz/test_poison.py``), and full when it is warm. What the
    world holds does not.
    """
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] in ROOMS]
    todo: list[Any] = [daemon, *(value for module in modules for value in vars(module).values())]
    seen, total = set[int](), 0
    while todo:
        held = todo.pop()
        if id(held) in seen or isinstance(held, NOT_HELD) or type(held).__module__.startswith("tests."):
            continue
        seen.add(id(held))
        total += sys.getsizeof(held)
        if isinstance(held, FunctionType):
            todo += [*(held.__closure__ or ()), *(held.__defaults__ or ())]
        else:
            todo += gc.get_referents(held)
    return total


def leaks(warm: Footprint, last: Footprint) -> list[str]:
    """What there is more of in the end than when all was warm."""
    found = []
    if last.memory > warm.memory * GROWTH:
        found.append(f"memory has grown from {warm.memory:,} to {last.memory:,} bytes")
    for what in ("tasks", "watches", "series", "files"):
        before, after = getattr(warm, what), getattr(last, what)
        if after > before:
            found.append(f"{what} have grown from {before} to {after}")
    if last.entries:
        found.append(f"{last.entries} entries are left")
    return found


def _number(name: str) -> int:
    return int(name.rpartition("-")[2])
