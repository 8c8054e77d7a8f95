"""One run of the daemon, from its start to its end, which a plan may put at any instant."""

import asyncio
from collections.abc import Coroutine
from contextvars import ContextVar, copy_context
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from muster.daemon import clocks
from muster.daemon.app import Daemon
from muster.daemon.settings import Settings
from tests.simulation.plans.plan import TAKEOVERS
from tests.simulation.world.faulty_transport import FaultyTransport
from tests.simulation.world.gang import WorldProber

if TYPE_CHECKING:
    from tests.simulation.world.world import World

CURRENT_RUN: ContextVar["DaemonRun | None"] = ContextVar("daemon run", default=None)
PAGE_SIZE = 3
"""Objects per page of a list: also small gangs have several pages."""
CANCEL_ROUNDS = 1_000
"""Rounds of cancellation after which a task that is still alive is a violation."""

clocks.TICK = 30.0
"""The probe of the loop's lag. Virtual time is never late, so it need not run often."""

SETTINGS = Settings.model_construct(
    **{name: field.default for name, field in Settings.model_fields.items()}
    | {"write_concurrency": 2, "retry_period": 5.0}
)
"""The defaults, with so few slots for requests that small worlds use them up, and as few renewals of the Lease as its
terms allow."""


class DaemonRun:
    """One ``Daemon`` and all tasks that were started by it."""

    def __init__(self, world: "World", number: int, stale: int | None = None, skew: float = 0.0) -> None:
        self.world = world
        self.number = number
        self.born = world.clock()
        self.skew = skew
        """Seconds by which the wall clock of the daemon's node is ahead."""
        self.transport = FaultyTransport(world, stale)
        self.tasks: dict[asyncio.Task[Any], None] = {}
        """Keys in the order of creation: the order of a set would differ from run to run."""
        self.daemon: Daemon | None = None

    def start(self) -> None:
        """Start the daemon."""
        context = copy_context()
        context.run(CURRENT_RUN.set, self)
        loop = asyncio.get_running_loop()
        task = context.run(lambda: loop.create_task(self._run(), name=f"run {self.number}"))
        task.add_done_callback(self._ended)

    def clock(self) -> float:
        """Wall-clock seconds as the daemon has them."""
        return self.world.clock() + self.skew

    async def _run(self) -> None:
        world = self.world
        self.daemon = Daemon(
            self.transport,
            SETTINGS.model_copy(
                update={
                    "leader_elect": world.plan.has(*TAKEOVERS),
                    "kueue": bool(world.scenario.quota),
                    "watch_kinds": "pods" if world.scenario.watched else "",
                    "run_kinds": world.operator.subject.plural if world.operator.of_run_kind else "none",
                }
            ),
            clock=self.clock,
            monotonic=world.loop.time,
            random=Random(f"{world.plan.seed}/{self.number}"),
            instance=f"run-{self.number}",
            version="0",
            make_prober=lambda target: WorldProber(world.gang, target, self.clock),
        )
        informers = self.daemon.informers
        informers.settings = replace(informers.settings, page_size=PAGE_SIZE)  # no setting of musterd
        await self.daemon.run()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not self.transport.dead:
            error = None if task.cancelled() else task.exception()
            self.world.violate(f"the daemon ended by itself: {error!r}")

    def forget(self, task: asyncio.Task[Any]) -> None:
        """Forget a task that has ended."""
        self.tasks.pop(task, None)

    def count(self, counter: str) -> float:
        """The value of a counter of the daemon, over all labels."""
        if self.daemon is None:
            return 0.0
        registry = self.daemon.instruments.registry.restricted_registry([f"{counter}_total"])
        return sum(s.value for family in registry.collect() for s in family.samples if s.name == f"{counter}_total")

    async def kill(self) -> None:
        """Cancel every task. Requests that the tasks still send are not delivered: the transport is marked dead."""
        self.transport.dead = True
        for _ in range(CANCEL_ROUNDS):
            left = [task for task in self.tasks if not task.done()]
            if not left:
                return
            for task in left:
                task.cancel()
            await asyncio.sleep(0)
        self.world.violate(f"tasks outlive the daemon: {sorted(task.get_name() for task in left)}")


def task_factory(loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, Any], **options: Any) -> asyncio.Task[Any]:
    """Assign every task to the run that started it."""
    task: asyncio.Task[Any] = asyncio.Task(coro, loop=loop, **options)
    if run := CURRENT_RUN.get():
        run.tasks[task] = None
        task.add_done_callback(run.forget)
    return task
