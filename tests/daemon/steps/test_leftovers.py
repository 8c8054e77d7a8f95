"""The leftovers of gone Experiments: their Workload keeps its quota until the last pod has ended."""

import asyncio
from collections.abc import Iterable

from muster.daemon.steps import outcomes
from muster.daemon.steps.outcomes import Leftovers
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.workload import Workload
from tests.builders import pod

HELD = Workload("uid-own", "own", "team", "uid-1", 1, 1, "q", True, True)


class World:
    """Index, work queue and engine, as far as leftovers need them."""

    def __init__(self) -> None:
        self.unseen = [pod(1), pod(2)]
        self.alive = [pod(1), pod(2)]
        self.released: list[Workload] = []
        self.due: list[float] = []

    def vanished(self, _uid: str) -> list[Pod]:
        return self.unseen

    def orphans(self, _uid: str) -> list[Workload]:
        return [] if self.unseen else [HELD]

    async def asked(self, vanished: Iterable[Pod]) -> list[Pod]:
        return [each for each in vanished if each not in self.alive]

    def ended(self, _uid: str, pods: list[Pod]) -> None:
        self.unseen = [each for each in self.unseen if each not in pods]

    def add_in(self, _uid: str, seconds: float) -> None:
        self.due.append(seconds)

    async def release(self, workload: Workload) -> None:
        self.released.append(workload)


class Engine:
    """The requests of that world."""

    def __init__(self, world: World) -> None:
        self.ended, self.release = world.asked, world.release


def step(world: World) -> None:
    """Run one step, as the controller does."""
    left = Leftovers(world, world, Engine(world), lambda: 0.0)  # type: ignore[arg-type]
    assert left.collect("uid-1") is None
    released = left.release("uid-1")
    assert released is not None
    asyncio.run(released)


def test_a_workload_is_let_go_when_the_pods_that_no_watch_shows_have_ended() -> None:
    world = World()
    step(world)
    world.alive = [pod(2)]
    step(world)
    assert (world.unseen, world.released) == ([pod(2)], [])
    assert world.due == [outcomes.ASKED_AFTER] * 2
    world.alive = []
    step(world)
    assert (world.due[-1], world.released) == (0.0, [])
    step(world)
    assert world.released == [HELD]
