"""The pod subresource portforward, with the client of `muster port-forward`."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from muster.api.errors import ApiError, Unreachable
from muster.kube.authentication.credentials import ClusterAccess
from muster.kube.connection import Connection
from muster.kube.execution import dial, forward
from tests.local.apiserver.harness import PODS, Api, pod


@asynccontextmanager
async def echo() -> AsyncIterator[int]:
    """A server that says what it hears in capitals; its port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while heard := await reader.read(100):
            writer.write(heard.upper())
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def running(api: Api) -> None:
    await api.create(PODS, pod("p"))
    await has_address(api)


async def has_address(api: Api) -> None:
    status = {"status": {"phase": "Running", "podIP": "127.0.0.1"}}
    code, _ = await api.call("PATCH", f"{PODS}/p/status", status, kind="application/merge-patch+json")
    assert code == 200


async def carried(api: Api, port: int, said: bytes) -> bytes:
    """What comes back before as much has come as was said."""
    connection, reader, heard = await Connection.open(ClusterAccess(api.base)), asyncio.StreamReader(), bytearray()

    async def write(data: bytes) -> None:
        heard.extend(data)
        if len(heard) >= len(said):
            reader.feed_eof()

    reader.feed_data(said)
    try:
        await forward(connection, "default", "p", port, reader, write)
    finally:
        await connection.aclose()
    return bytes(heard)


async def test_a_connection_to_a_port_of_the_pod_is_carried_both_ways(api: Api) -> None:
    await running(api)
    async with echo() as port:
        assert await carried(api, port, b"hello" * 20_000) == b"HELLO" * 20_000


async def test_a_port_at_which_nothing_listens_is_an_error_in_words(api: Api) -> None:
    await running(api)
    async with echo() as port:
        pass
    with pytest.raises(Unreachable, match=f"port {port} of pod p: "):
        await carried(api, port, b"hello")


async def test_a_pod_without_an_address_and_a_wrong_port_are_refused(api: Api) -> None:
    await api.create(PODS, pod("p"))
    with pytest.raises(ApiError):
        await carried(api, 80, b"hello")
    await has_address(api)
    for port in (0, 70_000):
        with pytest.raises(ApiError):
            await carried(api, port, b"hello")


async def test_a_dialled_connection_carries_both_ways_and_a_refusal_is_raised(api: Api) -> None:
    await running(api)
    connection, late = await Connection.open(ClusterAccess(api.base)), list[ApiError]()
    try:
        async with echo() as port:
            reader, writer = await dial(connection, "default", "p", port, limit=100, late=late.append, carried_by=set())
            writer.write(b"hello\n")
            assert await reader.readline() == b"HELLO\n"
            writer.close()
        with pytest.raises(Unreachable, match="refused"):
            await dial(connection, "default", "p", port, limit=100, late=late.append, carried_by=set())
    finally:
        await connection.aclose()
    assert late == []
