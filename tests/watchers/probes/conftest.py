"""A fixture of the tests of probes."""

import socket
from collections.abc import Iterator

import pytest


@pytest.fixture
def closed() -> Iterator[int]:
    """Yield a port of loopback at which nothing listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]
