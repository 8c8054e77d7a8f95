"""One life of the daemon: from its start to its end, which may come at any instant."""

import asyncio
from collections.abc import Coroutine
from contextvars import ContextVar, copy_context
from random import Random
from typing import TYPE_CHECKING, Any

from muster.daemon import loop_lag as heartbeat
from muster.daemon.app import Daemon
from muster.daemon.settings import Settings
from tests.simulation.world.faulty_transport import Door
from tests.simulation.world.gang import WorldProber

if TYPE_CHECKING:
    from tests.simulation.world.world import World

OURS: ContextVar["Life | None"] = ContextVar("life", default=None)
PATIENCE = 1_000
"""Rounds of cancellation after which a task that still lives is refusing to die."""

heartbeat.BEAT = 30.0
"""The heartbeat measures how late the real loop runs. Virtual time is never late, so it need not beat that often."""

SETTINGS = Settings.model_construct(**{name: field.default for name, field in Settings.model_fields.items()})


class Life:
    """Owns one ``Daemon`` and every task that was started on its behalf."""

    def __init__(self, world: "World", number: int, stale: int | None = None) -> None:
        self.world = world
        self.number = number
        self.door = Door(world, stale)
        self.tasks: dict[asyncio.Task[Any], None] = {}
        """In the order of their creation: a set's order would differ from run to run."""
        self.daemon: Daemon | None = None

    def start(self) -> None:
        """Let it run."""
        context = copy_context()
        context.run(OURS.set, self)
        loop = asyncio.get_running_loop()
        task = context.run(lambda: loop.create_task(self._run(), name=f"life {self.number}"))
        task.add_done_callback(self._ended)

    async def _run(self) -> None:
        world = self.world
        self.daemon = Daemon(
            self.door,
            SETTINGS,
            clock=world.clock,
            monotonic=world.loop.time,
            random=Random(f"{world.plan.seed}/{self.number}"),
            instance=f"life-{self.number}",
            version="0",
            make_prober=lambda target: WorldProber(world.gang, target),
        )
        await self.daemon.run()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not self.door.dead:
            error = None if task.cancelled() else task.exception()
            self.world.violate(f"the daemon ended by itself: {error!r}")

    def forget(self, task: asyncio.Task[Any]) -> None:
        """A task has ended."""
        self.tasks.pop(task, None)

    def count(self, counter: str) -> float:
        """What the daemon counted, over all labels."""
        if self.daemon is None:
            return 0.0
        registry = self.daemon.instruments.registry.restricted_registry([f"{counter}_total"])
        return sum(s.value for family in registry.collect() for s in family.samples if s.name == f"{counter}_total")

    async def kill(self) -> None:
        """End every task at once. What they still try to say reaches nobody: the door is shut."""
        self.door.dead = True
        for _ in range(PATIENCE):
            left = [task for task in self.tasks if not task.done()]
            if not left:
                return
            for task in left:
                task.cancel()
            await asyncio.sleep(0)
        self.world.violate(f"tasks outlive the daemon: {sorted(task.get_name() for task in left)}")


def task_factory(loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, Any], **options: Any) -> asyncio.Task[Any]:
    """Every task belongs to the life that started it."""
    task: asyncio.Task[Any] = asyncio.Task(coro, loop=loop, **options)
    if life := OURS.get():
        life.tasks[task] = None
        task.add_done_callback(life.forget)
    return task
