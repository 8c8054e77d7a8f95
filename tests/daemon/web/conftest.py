"""The HTTP server of a daemon without reviews of its readers, and one that reviews them."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import ClientSession

from muster.daemon.web.live import Changes, Streams
from muster.daemon.web.pages import Pages
from muster.daemon.web.readers import TokenAuthenticator
from muster.daemon.web.reviews import Reviews
from muster.daemon.web.server import HttpServer
from muster.metrics.collector import ExperimentCollector
from muster.metrics.instruments import Instruments
from tests.builders import NOW
from tests.daemon.web.ground import Ground, of_tenants
from tests.daemon.web.subjects import Daemon


@pytest.fixture
def daemon() -> Daemon:
    return Daemon()


@pytest.fixture
async def server(daemon: Daemon) -> AsyncIterator[str]:
    instruments = Instruments("1.2.3", tracked_pods=lambda: 4, queue_depth=lambda: 0, clock=lambda: NOW)
    instruments.registry.register(ExperimentCollector(daemon.subjects, lambda: NOW))
    one = HttpServer(instruments.registry, daemon, Pages(daemon, daemon.role, lambda: NOW), "127.0.0.1", 0)
    port = await one.start()
    yield f"http://127.0.0.1:{port}"
    await one.stop()
    await one.stop()


@pytest.fixture
async def client(server: str) -> AsyncIterator[ClientSession]:
    async with ClientSession(server) as session:
        yield session


@pytest.fixture
async def ground() -> AsyncIterator[Ground]:
    here, daemon = Ground(), of_tenants()
    registry = Instruments("1", tracked_pods=lambda: 0, queue_depth=lambda: 0).registry
    authenticator = TokenAuthenticator(Reviews(here.api, lambda: here.now))
    names = {"muster.example.com"}
    server = HttpServer(
        registry,
        daemon,
        Pages(daemon, daemon.role, lambda: NOW),
        "127.0.0.1",
        0,
        authenticator=authenticator,
        names=names,
        streams=Streams(Changes(), pause=0.01, heartbeat=0.01),
    )
    port = await server.start()
    async with ClientSession(f"http://127.0.0.1:{port}") as here.session:
        yield here
    await server.stop()
