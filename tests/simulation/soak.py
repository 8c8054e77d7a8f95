"""The soak: thousands of experiments are created, fail and are deleted, in virtual time, in one run of the daemon.

They come in waves of fifty. A third fails for good, a third fails once and then succeeds, a third is deleted while it
runs. After a wave nothing of it may be left: no memory, task, watch, series, file or entry.
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
from tests.fakes.history import collections_of
from tests.scenarios.incidents import EVERY_EPOCH, Fails
from tests.scenarios.scenario import End, Scenario, path_of
from tests.simulation.oracles.invariants import OVER
from tests.simulation.oracles.own_writes import OwnWrites
from tests.simulation.plans.plan import Plan
from tests.simulation.world.process import Process
from tests.simulation.world.user_actions import Users
from tests.simulation.world.world import World

WAVE = 50
GROWTH = 1.05
"""Allowed ratio of the memory at the end to the memory when warm."""
WAVE_LIMIT = 300.0
"""Seconds within which a wave must be over."""
ROOMS = ("muster",)
NOT_HELD = (type, ModuleType, CodeType, FrameType, AsyncGeneratorType, asyncio.AbstractEventLoop)
"""The search for reachable objects stops at these. (The generators are the watch streams of the fake API server.)"""
SOAK = Scenario("soak", End("Succeeded"), spec={"restartPolicy": {"backoffLimit": 1}}, run=5.0)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Footprint:
    """What the daemon holds when it is idle. ``memory`` is in bytes, without what the world itself holds."""

    memory: int
    tasks: int
    watches: int
    series: int
    files: int
    entries: int


class WaveUsers(Users):
    """Users who submit only when the soak asks them to."""

    def schedule(self) -> None:
        """Nothing is scheduled in advance."""


class Soak(World):
    """A world in which one wave follows another."""

    def __init__(self, experiments: int) -> None:
        super().__init__(Plan("happy", 1))
        self.scenario = SOAK
        self.users = WaveUsers(self)
        self.footprints: list[Footprint] = []
        """After three fifths of the waves (warm) and at the end. The daemon remembers the last 4,096 deleted uids of
        each kind, in a table that has its full size after 5,461."""
        self.ended = dict.fromkeys(OVER, 0)
        self._waves = experiments // WAVE
        self._forgotten = 0

    def incidents_of(self, process: Process, *kinds: type[T]) -> list[T]:
        """Two of three experiments fail; one of these two fails in every epoch."""
        epochs = (EVERY_EPOCH, range(1), range(0))[_number(process.experiment_name) % 3]
        fails: Any = Fails(rank=0, epochs=epochs, after=2.0, experiment=process.experiment_name)
        return [fails] if Fails in kinds and process.epoch in epochs else []

    async def _rest(self) -> None:
        for wave in range(self._waves):
            names = [f"run-{wave * WAVE + each}" for each in range(WAVE)]
            for name in names:
                self.users.submit(name)
            await asyncio.sleep(4.0)
            for name in names:
                if _number(name) % 3 == 2:
                    self.api.delete(path_of(name))
            await self._over()
            for obj in self.experiments():
                self.ended[obj["status"]["phase"]] += 1
                self.api.delete(path_of(obj["metadata"]["name"]))
            await asyncio.sleep(60.0)  # pods get their grace period, and the daemon sees them go
            self._forget()
            if wave + 1 in (self._waves * 3 // 5, self._waves):
                self.footprints.append(self._footprint())

    async def _over(self) -> None:
        end = self.loop.time() + WAVE_LIMIT
        while any((obj.get("status") or {}).get("phase") not in OVER for obj in self.experiments()):
            if self.loop.time() > end:
                self.violate(f"a wave is not over after {WAVE_LIMIT:g} s")
                return
            await asyncio.sleep(1.0)

    def _forget(self) -> None:
        """Drop the world's own history, which it keeps for its oracles and which would grow here."""
        changes = self.api.history.changes
        for change in changes[self._forgotten :]:
            change.kind, change.path, change.before, change.after = "DELETED", "", None, {}
            change._body, change._lines = b"", {}  # noqa: SLF001 - frees what the change holds
        self._forgotten = len(changes)
        collections_of.cache_clear()
        for path in [path for path in self.api.objects if "/events/" in path]:
            del self.api.objects[path]
        if self.api.objects:
            self.violate(f"objects are left: {sorted(self.api.objects)[:4]}")
        lists = (self.api.requests, self.writes, self.incident_log, self.invariants.story_lines, self.kubelet.processes)
        for kept in lists:
            kept.clear()
        self.runs[-1].transport.own = OwnWrites(self)

    def _footprint(self) -> Footprint:
        daemon = self.runs[-1].daemon
        assert daemon is not None
        series = sum(not line.startswith(b"#") for line in generate_latest(daemon.instruments.registry).splitlines())
        return Footprint(
            memory=held_by(daemon),
            tasks=len(asyncio.all_tasks()),
            watches=len(self.api.watches),
            series=series,
            files=len(list(Path("/proc/self/fd").iterdir())),
            entries=len(daemon.index.entries) + len(daemon.index.members) + len(daemon.queue) + daemon.index.pods,
        )


def soak(experiments: int) -> Soak:
    """Play the soak; the result's ``violations`` are what is wrong."""
    world = Soak(experiments)
    world.play()
    if not world.violations:
        world.violations += leaks(*world.footprints)
    return world


def held_by(daemon: Daemon) -> int:
    """Bytes of everything reachable from the daemon and from the variables of Muster's modules.

    Function caches count: each is bounded (``tests/fuzz/test_hostile_objects.py``) and full when warm. What the world
    holds does not count.
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
    """What has grown since the daemon was warm."""
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
