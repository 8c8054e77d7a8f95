"""TLS in front of the API server: clients that verify get through, streams flow both ways, nothing stays open."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from muster.client import Client
from muster.local.apiserver import ApiServer
from muster.local.certificate import Certificate, make_certificate
from muster.local.front import Front
from muster.local.kubeconfig import write_kubeconfig


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    return make_certificate(time.time())


def trusting(certificate: Certificate) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=certificate.pem.decode())
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


@pytest.fixture
async def echo() -> AsyncIterator[int]:
    """A server that says everything twice, until it is told to go."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (line := await reader.readline()) not in (b"", b"go\n"):
            writer.write(line * 2)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


@pytest.fixture
async def port(echo: int, certificate: Certificate) -> AsyncIterator[int]:
    front = Front("127.0.0.1", echo, certificate.context)
    yield await front.start("127.0.0.1", 0)
    await front.stop()
    assert not front.connections


async def test_bytes_flow_both_ways_until_the_server_ends(port: int, certificate: Certificate) -> None:
    reader, writer = await asyncio.open_connection("localhost", port, ssl=trusting(certificate))
    for line in (b"one\n", b"x" * 60_000 + b"\n"):
        writer.write(line)
        assert await reader.readexactly(2 * len(line)) == line * 2
    writer.write(b"go\n")
    assert await reader.read() == b""
    writer.close()


async def test_only_its_own_authority_vouches_for_it(port: int) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        await asyncio.open_connection("127.0.0.1", port, ssl=ssl.create_default_context())


async def test_plain_http_and_broken_clients_harm_nobody(port: int, certificate: Certificate) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\n\r\n")
    assert await reader.read() == b""
    writer.close()
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting(certificate))
    writer.transport.abort()
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting(certificate))
    writer.write(b"still there\n")
    assert await reader.readline() == b"still there\n"
    writer.close()


async def test_a_server_that_is_not_there_is_a_closed_connection(certificate: Certificate) -> None:
    front = Front("127.0.0.1", 1, certificate.context)
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", await front.start("127.0.0.1", 0), ssl=trusting(certificate)
    )
    assert await reader.read() == b""
    writer.close()
    await front.stop()


async def test_the_client_goes_through_it_with_its_token(certificate: Certificate, tmp_path: Path) -> None:
    api = ApiServer(None, token="secret")
    url = await api.start()
    front = Front("127.0.0.1", int(url.rpartition(":")[2]), certificate.context)
    port = await front.start("127.0.0.1", 0)
    write_kubeconfig(tmp_path / "kubeconfig", url=f"https://127.0.0.1:{port}", token="secret", ca=certificate.pem)
    async with Client(tmp_path / "kubeconfig") as client:
        assert (await client.transport.request("GET", "/version")).status == 200
        assert await client.members("nobody") == []
    await front.stop()
    await api.stop()
