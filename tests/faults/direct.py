"""The way past the proxy to the API server: of the proxy itself, the kubelet, the recorder and the user."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from muster.kube.authentication.kubeconfig import KubeConfig
from muster.kube.connection import Connection
from muster.kube.resources import ResourceClient
from muster.local.home import write_kubeconfig


@dataclass(frozen=True, slots=True)
class Direct:
    """``session`` forwards requests as they are; ``api`` is the client of those that see the true state."""

    url: str
    token: str
    session: aiohttp.ClientSession
    api: ResourceClient


@asynccontextmanager
async def direct(folder: Path, url: str, token: str) -> AsyncIterator[Direct]:
    """The way to the API server at that URL."""
    config = folder / "direct.kubeconfig"
    write_kubeconfig(config, url=url, token=token)
    connection = await Connection.open(KubeConfig(str(config)))
    connector = aiohttp.TCPConnector(limit=0)
    try:
        async with aiohttp.ClientSession(connector=connector, trust_env=False, read_bufsize=2**22) as session:
            yield Direct(url, token, session, ResourceClient(connection, concurrency=256))
    finally:
        await connection.aclose()
