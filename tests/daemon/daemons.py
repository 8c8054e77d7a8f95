"""Daemons beside each other on one API server in memory, in virtual time, which may refuse watches of some kinds."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from random import Random
from typing import TypeVar

from muster.api.errors import ApiError
from muster.daemon.app import Daemon
from muster.daemon.settings import Settings
from tests.daemon.stories import in_virtual_time
from tests.daemon.virtual_daemon import Cluster, Prober


class Refusing(Cluster):
    """A cluster that refuses watches of some kinds."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.refused: dict[str, ApiError] = {}
        """The answer to watches of these kinds, by plural."""

    def lines(
        self, path: str, *, params: Mapping[str, str], silence: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        if (error := self.refused.get(path.rsplit("/", 1)[1])) is not None:
            raise error
        return super().lines(path, params=params, silence=silence)


class Daemons:
    """The API server, and the daemons that a story starts and stops."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.cluster = Refusing(loop)
        self.api = self.cluster.api
        self.loop = loop
        self.daemons: list[tuple[Daemon, asyncio.Task[bool]]] = []

    async def start(self, settings: Settings, instance: str = "one") -> Daemon:
        """Start another musterd, and give it the time to have its first lists."""
        daemon = Daemon(
            self.cluster,
            settings,
            clock=self.cluster.wall,
            monotonic=self.loop.time,
            random=Random(1),
            instance=instance,
            version="0",
            make_prober=lambda _target: Prober(self.cluster),
        )
        self.daemons.append((daemon, asyncio.create_task(daemon.run(), name="daemon")))
        await asyncio.sleep(3)
        return daemon

    async def stop(self, number: int = -1) -> None:
        """End a daemon, the last one by default."""
        daemon, running = self.daemons.pop(number)
        daemon.stop()
        assert await running, "the daemon did not end cleanly"

    def written(self) -> list[str]:
        """The writes that were asked for, Events left out."""
        writes = [request for request in self.api.requests if request.method != "GET"]
        return [str(request) for request in writes if not request.path.endswith("/events")]


W = TypeVar("W", bound=Daemons)


def played(make: Callable[[asyncio.AbstractEventLoop], W], story: Callable[[W], Coroutine[None, None, None]]) -> None:
    """Run a story in virtual time, and end the daemons that it leaves."""

    async def run() -> None:
        world = make(asyncio.get_running_loop())
        await story(world)
        while world.daemons:
            await world.stop()

    in_virtual_time(run())
