"""The HTTP server of a daemon over a virtual fleet, in a thread of its own: the browser is driven from another."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from muster.daemon.web.bundles import Bundles
from muster.daemon.web.live import Changes, Streams
from muster.daemon.web.pages import Pages
from muster.daemon.web.readers import Authenticator
from muster.daemon.web.server import HttpServer
from muster.metrics.collector import Subject
from muster.metrics.instruments import Instruments
from muster.metrics.runbooks import PUBLISHED
from tests.browser.virtual_fleet import VirtualFleet


@dataclass
class Site:
    """A server that runs. ``port`` is that of its address."""

    fleet: VirtualFleet
    streams: Streams
    loop: asyncio.AbstractEventLoop
    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def put(self, subject: Subject) -> None:
        """The daemon comes to know of that experiment, or of its new state."""
        self.call(lambda: self.streams.changes.changed(self.fleet.put(subject)))

    def call(self, what: Callable[[], object]) -> None:
        """Do it on the loop of the server, and wait until it is done."""
        done = threading.Event()

        def act() -> None:
            what()
            done.set()

        self.loop.call_soon_threadsafe(act)
        assert done.wait(10)


@contextmanager
def site(
    fleet: VirtualFleet, authenticator: Authenticator | None = None, bundles: Bundles | None = None
) -> Iterator[Site]:
    """Serve the fleet on a free port of this machine."""
    found: list[Site] = []
    ready, over = threading.Event(), asyncio.Event()

    async def serve() -> None:
        streams = Streams(Changes())
        registry = Instruments("1", tracked_pods=lambda: 0, queue_depth=lambda: 0).registry
        server = HttpServer(
            registry,
            fleet,
            Pages(fleet, fleet.role, time.time, PUBLISHED, tracking=fleet.tracking),
            "127.0.0.1",
            0,
            streams=streams,
            authenticator=authenticator,
            bundles=bundles,
        )
        port = await server.start()
        found.append(Site(fleet, streams, asyncio.get_running_loop(), port))
        ready.set()
        await over.wait()
        await server.stop()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="site")
    thread.start()
    try:
        assert ready.wait(30)
        yield found[0]
    finally:
        found[0].loop.call_soon_threadsafe(over.set)
        thread.join(30)
