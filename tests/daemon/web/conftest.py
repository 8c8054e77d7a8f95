"""The HTTP port whose readers are reviewed."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import ClientSession

from muster.daemon.web.live import Changes, Streams
from muster.daemon.web.readers import TokenAuthenticator
from muster.daemon.web.reviews import Reviews
from muster.daemon.web.server import HttpServer
from muster.metrics.instruments import Instruments
from tests.builders import NOW
from tests.daemon.web.ground import Daemon, Ground


@pytest.fixture
async def ground() -> AsyncIterator[Ground]:
    here, daemon = Ground(), Daemon()
    registry = Instruments("1", tracked_pods=lambda: 0, queue_depth=lambda: 0).registry
    authenticator = TokenAuthenticator(Reviews(here.api, lambda: here.now))
    names = {"muster.example.com"}
    server = HttpServer(
        registry,
        daemon,
        daemon,
        "127.0.0.1",
        0,
        clock=lambda: NOW,
        authenticator=authenticator,
        names=names,
        streams=Streams(Changes(), pause=0.01, heartbeat=0.01),
    )
    port = await server.start()
    async with ClientSession(f"http://127.0.0.1:{port}") as here.session:
        yield here
    await server.stop()
