"""Daemons as far as leader election is concerned: each on its own machine, with work that writes all the time."""

import asyncio
from random import Random
from typing import Any

from muster.api.errors import ApiError
from muster.kube.leaderelection.elector import Elector, Fenced
from muster.kube.leaderelection.lease import Leases
from muster.kube.leaderelection.rules import Terms
from muster.kube.transport import Around
from tests.fakes.machines import WORK, Machine, World

LEASE = "/apis/coordination.k8s.io/v1/namespaces/muster/leases/musterd"
DEFAULT = Terms()
FAST = Terms(1.5, 1.0, 0.2)


class Candidate:
    """One daemon. Its work sends a write every ``rhythm`` seconds, through its fence."""

    def __init__(self, world: World, name: str, terms: Terms = DEFAULT, **clock: float) -> None:
        self.machine = Machine(world, **clock)
        self.world = world
        self.name = name
        self.rhythm = terms.retry * 0.7
        self.working = False
        self.refused = 0
        self.wall_error = 0.0
        """Seconds by which its wall clock is wrong."""
        leases = Leases(self.machine.cable, "muster", "musterd", lambda: world.now + self.wall_error)
        self.elector = Elector(leases, name, terms, monotonic=self.machine.clock, random=Random(name))
        self._writing = Around(self.machine.cable, self.elector.fence.passing)
        self.task = self.machine.start(self.elector.run(self._work))

    @property
    def leads(self) -> bool:
        """Whether its fence would let a write pass."""
        return not self.machine.killed and self.elector.fence.open

    @property
    def writes(self) -> list[float]:
        """When its writes were sent."""
        return [at for at, what in self.machine.cable.sent if what == f"POST {WORK}"]

    def leave(self) -> None:
        """Exit cleanly."""

        async def end() -> None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)
            await self.elector.resign()
            self.machine.kill()

        self.machine.start(end())

    async def _work(self) -> None:
        self.working = True
        try:
            while True:
                try:
                    await self._writing.request("POST", WORK, timeout=self.rhythm * 4)
                except Fenced:
                    self.refused += 1
                except ApiError:
                    pass
                await asyncio.sleep(self.rhythm)
        finally:
            self.working = False


def lease(world: World) -> dict[str, Any]:
    """The spec of the stored Lease."""
    spec: dict[str, Any] = world.api.objects[LEASE]["spec"]
    return spec


def touch(world: World, **spec: Any) -> None:
    """Edit the Lease as another client."""
    if LEASE in world.api.objects:
        old = world.api.objects[LEASE]
        world.api.put(LEASE, {**old, "spec": {**old["spec"], **spec}})


def vanish(world: World) -> None:
    """Delete the Lease as another client."""
    if LEASE in world.api.objects:
        world.api.remove(LEASE)
