"""A server for each test, and an open client of it."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from muster.client import Client
from tests.client.localserver import LocalServer, local_server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LocalServer]:
    with local_server(tmp_path) as running:
        yield running


@pytest.fixture
async def client(server: LocalServer) -> AsyncIterator[Client]:
    async with Client(server.kubeconfig) as opened:
        yield opened
