"""Fixtures of the API server tests: each test has its own server."""

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from muster.local.apiserver import ApiServer
from tests.local.apiserver.harness import Api, Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        yield session


@pytest.fixture
async def server(clock: Clock) -> AsyncIterator[ApiServer]:
    server = ApiServer(None, clock=clock, bookmark_seconds=0.2, history=64)
    yield server
    await server.stop()


@pytest.fixture
async def base(server: ApiServer) -> str:
    return await server.start()


@pytest.fixture
async def api(base: str, session: aiohttp.ClientSession) -> Api:
    return Api(base, session)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "cluster.sqlite"
