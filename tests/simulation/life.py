"""One life of the daemon: from its start to its end, which may come at any instant."""

import asyncio
from collections.abc import Coroutine
from contextvars import ContextVar, copy_context
from random import Random
from typing import TYPE_CHECKING, Any

from daemon.settings import Settings
from daemon.wiring import Daemon
from tests.simulation.door import Door
from tests.simulation.gang import WorldProber

if TYPE_CHECKING:
    from tests.simulation.world import World

OURS: ContextVar["Life | None"] = ContextVar("life", default=None)
PATIENCE = 1_000
"""Rounds of cancellation after which a task that still lives is refusing to die."""

SETTINGS = Settings.model_construct(**{name: field.default for name, field in Settings.model_fields.items()})


class Life:
    """Owns one ``Daemon`` and every task that was started on its behalf."""

    def __init__(self, world: "World", number: int, stale: int | None = None) -> None:
        self.world = world
        self.number = number
        self.door = Door(world, stale)
        self.tasks: set[asyncio.Task[Any]] = set()
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


def task_factory(
    loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, Any], **options: Any
) -> asyncio.Task[Any]:
    """Every task belongs to the life that started it."""
    task: asyncio.Task[Any] = asyncio.Task(coro, loop=loop, **options)
    if life := OURS.get():
        life.tasks.add(task)
        task.add_done_callback(life.tasks.discard)
    return task
