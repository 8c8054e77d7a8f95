"""The port check, with real sockets on loopback."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from muster.state.view.roll import CoordinatorState
from muster.watchers.probes.bounded.connection import Address
from muster.watchers.probes.jax.port_check import check_port
from muster.watchers.probes.jax.probe import JaxProbe
from tests.fakes.coordinator import FakeCoordinator

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
SHORT = 0.4


@asynccontextmanager
async def listener(talk: Talk) -> AsyncIterator[str]:
    """Yield a server on loopback that handles each connection with ``talk``."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await talk(reader, writer)
        except ConnectionError:
            pass  # the prober closes its connections early
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def saying(first: bytes) -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(24)
        writer.write(first)
        await writer.drain()
        await reader.read()

    return talk


async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(100)


async def state_at(address: str) -> tuple[CoordinatorState, str]:
    port = await check_port(Address.parse(address), SHORT)
    return port.state, port.detail


async def test_a_closed_port_is_refused(closed: int) -> None:
    assert await state_at(f"127.0.0.1:{closed}") == (CoordinatorState.REFUSED, "connection refused")


async def test_a_listener_that_sends_nothing_is_silent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        state, detail = await state_at(f"127.0.0.1:{mute.getsockname()[1]}")
    assert state is CoordinatorState.SILENT
    assert "sends no answer within 0.4 s" in detail


async def test_dropped_packets_are_a_timeout() -> None:
    # With a full backlog the kernel drops further SYNs, like a host that does not answer.
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        address = full.getsockname()
        crowd = [socket.socket() for _ in range(4)]
        try:
            for one in crowd:
                one.setblocking(False)
                one.connect_ex(address)
            await asyncio.sleep(0.05)
            state, detail = await state_at(f"127.0.0.1:{address[1]}")
        finally:
            for one in crowd:
                one.close()
    assert (state, detail) == (CoordinatorState.TIMEOUT, "no connection within 0.4 s")


async def test_an_unroutable_address_is_a_timeout() -> None:
    state, detail = await state_at("255.255.255.255:80")
    assert state is CoordinatorState.TIMEOUT
    assert detail.startswith("no connection: ")


async def test_a_coordinator_is_serving() -> None:
    async with FakeCoordinator(4) as coordinator:
        assert await state_at(coordinator.address) == (CoordinatorState.SERVING, "speaks HTTP/2")


async def test_settings_may_arrive_byte_by_byte() -> None:
    async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for byte in b"\x00\x00\x00\x04\x00\x00\x00\x00\x00":
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0.002)

    async with listener(drip) as address:
        assert (await state_at(address))[0] is CoordinatorState.SERVING


@pytest.mark.parametrize(
    ("first", "state", "words"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", CoordinatorState.OTHER_PROTOCOL, "HTTP/1 server answers: HTTP/1.1 400"),
        (b"SSH-2.0-OpenSSH\x1b[2J\r\n", CoordinatorState.OTHER_PROTOCOL, "something else answers: 'SSH-2.0"),
        (b"\x15\x03\x01\x00\x02\x02\x46", CoordinatorState.TLS, "wants TLS"),
        (b"\x00\x00\x00\x04\x00\x00\x00\x00\x01", CoordinatorState.OTHER_PROTOCOL, "something else"),
        (b"\x00", CoordinatorState.SILENT, "sends no answer"),
    ],
)
async def test_the_first_bytes_decide(first: bytes, state: CoordinatorState, words: str) -> None:
    async with listener(saying(first)) as address:
        found, detail = await state_at(address)
    assert found is state
    assert words in detail
    assert detail.isprintable()


async def test_a_tls_server_that_closes_on_the_preface_is_found_by_a_client_hello() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (await reader.readexactly(1)) == b"\x16":
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)  # without a certificate it answers with an alert
            incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            incoming.write(b"\x16" + await reader.read(4096))
            with pytest.raises(ssl.SSLError):
                context.wrap_bio(incoming, outgoing, server_side=True).do_handshake()
            writer.write(outgoing.read())
            await writer.drain()

    async with listener(talk) as address:
        assert await state_at(address) == (CoordinatorState.TLS, "the port wants TLS")


async def test_a_server_that_closes_every_connection_is_another_protocol() -> None:
    async with listener(hang_up) as address:
        state, detail = await state_at(address)
    assert state is CoordinatorState.OTHER_PROTOCOL
    assert "closes them after an HTTP/2 preface" in detail


async def test_a_process_that_is_being_killed_is_refused() -> None:
    async def last_words(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.close()
        writer.close()

    server = await asyncio.start_server(last_words, "127.0.0.1", 0)
    state, detail = await state_at(f"127.0.0.1:{server.sockets[0].getsockname()[1]}")
    assert (state, detail) == (CoordinatorState.REFUSED, "connection refused")


@pytest.mark.parametrize("talk", [hang_up, saying(b"HTTP/1.1 200 OK\r\n\r\n"), saying(b"\x15\x03\x03\x00\x02\x02\x28")])
async def test_the_probe_reports_the_state_of_such_a_port(talk: Talk) -> None:
    async with listener(talk) as address:
        probe = JaxProbe(address, clock=lambda: 7.0, deadline=SHORT)
        answer = await probe.snapshot()
        await probe.close()
        port = await state_at(address)
    assert (answer.coordinator, answer.detail) == port
    assert (answer.at, answer.states, answer.expected, answer.protocol) == (7.0, (), None, "")


async def test_a_server_that_stops_after_its_settings_is_a_timeout() -> None:
    async with listener(saying(b"\x00\x00\x00\x04\x00\x00\x00\x00\x00")) as address:
        probe = JaxProbe(address, clock=lambda: 7.0, deadline=SHORT)
        answer = await probe.snapshot()
        await probe.close()
    assert answer.coordinator is CoordinatorState.TIMEOUT
    assert "speaks HTTP/2, but the call got no answer: DEADLINE_EXCEEDED" in answer.detail


@pytest.mark.parametrize(
    "address",
    [
        "",
        "10.0.0.1",
        "10.0.0.1:",
        "10.0.0.1:0",
        "10.0.0.1:-1",
        "10.0.0.1:65536",
        "10.0.0.1:\N{ARABIC-INDIC DIGIT THREE}",
        "[10.0.0.1]:80",
        "::1:80",
        "host:80",
        "\x1b[2J:80",
    ],
)
def test_an_invalid_address_raises_before_any_connection(address: str) -> None:
    with pytest.raises(ValueError, match="address") as refusal:
        Address.parse(address)
    with pytest.raises(ValueError, match="address"):
        Address.parse(f"{address}{'9' * 9999}")
    assert len(str(refusal.value)) < 200
    assert str(refusal.value).isprintable()


async def test_an_ipv6_coordinator_is_serving() -> None:
    assert Address.parse("[fd00::1]:1234") == Address("fd00::1", 1234)
    with socket.socket(socket.AF_INET6) as taken:
        taken.bind(("::1", 0))
        address = f"[::1]:{taken.getsockname()[1]}"
    assert (await state_at(address))[0] is CoordinatorState.REFUSED
