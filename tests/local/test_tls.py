"""TLS of the API server: verification, streams, and broken clients."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from muster.client import Client
from muster.local.apiserver import ApiServer
from muster.local.cluster import make_certificate
from muster.local.home import write_kubeconfig

Certificate = tuple[bytes, ssl.SSLContext]
CONFIGS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    return make_certificate()


@pytest.fixture(scope="module")
def trusting(certificate: Certificate) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=certificate[0].decode())
    context.verify_flags |= ssl.VERIFY_X509_STRICT  # Python 3.13 sets it by default
    return context


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    server = ApiServer(None, token="secret")
    yield server
    await server.stop()


@pytest.fixture
async def url(server: ApiServer, certificate: Certificate) -> str:
    return await server.start(tls=certificate[1])


@pytest.fixture
async def session(trusting: ssl.SSLContext) -> AsyncIterator[aiohttp.ClientSession]:
    headers = {"Authorization": "Bearer secret"}
    connector = aiohttp.TCPConnector(ssl=trusting)
    async with aiohttp.ClientSession(headers=headers, connector=connector) as session:
        yield session


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_client_that_knows_the_authority_gets_through(
    url: str, session: aiohttp.ClientSession, host: str
) -> None:
    async with session.get(f"https://{host}:{urlsplit(url).port}/version") as response:
        assert response.status == 200


async def test_a_client_that_does_not_know_the_authority_refuses_the_server(url: str) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        await asyncio.open_connection("127.0.0.1", urlsplit(url).port, ssl=ssl.create_default_context())


async def test_plain_http_and_broken_connections_harm_no_other_client(
    url: str, session: aiohttp.ClientSession, trusting: ssl.SSLContext
) -> None:
    port = urlsplit(url).port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\n\r\n")
    assert await reader.read() == b""
    writer.close()
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting)
    writer.transport.abort()
    async with session.get(f"{url}/version") as response:
        assert response.status == 200


async def test_the_sdk_connects_with_the_kubeconfig(url: str, certificate: Certificate, tmp_path: Path) -> None:
    write_kubeconfig(tmp_path / "kubeconfig", url=url, token="secret", ca=certificate[0])
    async with Client(tmp_path / "kubeconfig") as client:
        assert (await client.transport.request("GET", "/version")).status == 200
        assert await client.resources.list("/api/v1/namespaces/default/pods") == []
