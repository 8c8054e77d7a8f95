"""The HTTP server of a daemon without reviews of its readers, and one that reviews them."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import ClientSession

from muster.daemon.web.live import Changes, Streams
from muster.daemon.web.readers import TokenAuthenticator
from muster.daemon.web.reviews import Reviews
from muster.metrics.collector import ExperimentCollector
from muster.metrics.instruments import Instruments
from tests.builders import NOW
from tests.daemon.web.ground import Ground, of_tenants
from tests.daemon.web.subjects import Daemon, asking, serving


@pytest.fixture
def daemon() -> Daemon:
    return Daemon()


@pytest.fixture
async def server(daemon: Daemon) -> AsyncIterator[str]:
    instruments = Instruments("1.2.3", tracked_pods=lambda: 4, queue_depth=lambda: 0, clock=lambda: NOW)
    instruments.registry.register(ExperimentCollector(daemon.subjects, lambda: NOW))
    async with serving(daemon, registry=instruments.registry) as address:
        yield address


@pytest.fixture
async def client(server: str) -> AsyncIterator[ClientSession]:
    async with ClientSession(server) as session:
        yield session


@pytest.fixture
async def ground() -> AsyncIterator[Ground]:
    here = Ground()
    authenticator = TokenAuthenticator(Reviews(here.api, lambda: here.now))
    streams = Streams(Changes(), pause=0.01, heartbeat=0.01)
    names = {"muster.example.com"}
    async with asking(of_tenants(), authenticator=authenticator, names=names, streams=streams) as here.session:
        yield here
