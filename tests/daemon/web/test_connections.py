"""The limits on connections, against peers that attack over real sockets."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from muster.daemon.web.connections import IN_ALL, OF_ONE, Answer, Limits, Listener, Turns
from muster.daemon.web.health import HealthServer
from tests.daemon.web.subjects import Daemon

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
LARGE = b"x" * (8 * 2**20)
HOUR = 3600.0
"""Seconds that no test waits for: a limit that is not the subject of the test."""


async def ok(_: web.BaseRequest) -> web.Response:
    return web.Response(text="ok")


async def large(_: web.BaseRequest) -> web.Response:
    return web.Response(body=LARGE)


@dataclass
class Peer:
    """One connection of an attacker, from its own address on the loopback network."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def ask(self, sent: bytes = REQUEST) -> bytes:
        """Return the head and the small body of one answer; empty if the connection is closed."""
        try:
            self.writer.write(sent)
            async with asyncio.timeout(10):
                head = await self.reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                return head + await self.reader.readexactly(length)
        except (ConnectionError, asyncio.IncompleteReadError):
            return b""

    async def closed(self) -> bool:
        """Wait until the server has closed the connection; its remaining bytes are dropped."""
        try:
            async with asyncio.timeout(10):
                while await self.reader.read(2**16):
                    pass
        except ConnectionError:
            pass
        return True

    @property
    def open(self) -> bool:
        return not self.reader.at_eof() and self.reader.exception() is None


@dataclass
class Ground:
    """A listener and the connections that a test opened to it."""

    port: int
    peers: list[Peer] = field(default_factory=list)

    async def connect(self, address: str = "127.0.0.1") -> Peer:
        streams = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(address, 0))
        self.peers.append(Peer(*streams))
        return self.peers[-1]

    async def many(self, count: int, address: str = "127.0.0.1") -> list[Peer]:
        return [await self.connect(address) for _ in range(count)]


def limits(**given: float) -> Limits:
    return Limits(**{"first_request": HOUR, "idle": HOUR, "answer": HOUR} | given)  # type: ignore[arg-type]


@asynccontextmanager
async def listening(listener: Listener) -> AsyncIterator[Ground]:
    ground = Ground(await listener.start())
    try:
        yield ground
    finally:
        for peer in ground.peers:
            peer.writer.transport.abort()
        await listener.stop()


def serving(respond: Answer = ok, **given: float) -> Listener:
    return Listener(respond, "127.0.0.1", 0, limits(**given))


async def turns() -> None:
    """Let the event loop see what has happened to its sockets."""
    for _ in range(50):
        await asyncio.sleep(0)


HEALTHY = Daemon(problems={"watch pods": "silent for 200 s"})


async def test_half_open_connections_do_not_keep_the_kubelet_out() -> None:
    """As measured once: 64 connections that send nothing, and /livez was refused for as long as they lasted."""
    server = HealthServer(HEALTHY, "127.0.0.1", 0, limits(connections=64, per_peer=16))
    async with listening(server) as ground:
        for peer in range(2, 22):
            await ground.many(20, f"127.0.0.{peer}")
        for _ in range(20):
            kubelet = await ground.connect()
            assert (await kubelet.ask(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
            assert await kubelet.closed()


async def test_health_answers_its_two_paths_and_closes_the_connection() -> None:
    server = HealthServer(HEALTHY, "127.0.0.1", 0)
    async with listening(server) as ground:
        for asked, status in (("/readyz", 503), ("/livez", 200), ("/", 404), ("/metrics", 404), ("/livez/x", 404)):
            peer = await ground.connect()
            answer = await peer.ask(f"GET {asked} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert answer.startswith(f"HTTP/1.1 {status} ".encode()), asked
            assert await peer.closed()
        peer = await ground.connect()
        assert b" 404 " in await peer.ask(b"DELETE /livez HTTP/1.1\r\nHost: x\r\n\r\n")


async def test_a_new_connection_takes_the_place_of_its_peers_oldest_idle_one() -> None:
    async with listening(serving(connections=8, per_peer=3)) as ground:
        first, second, third = await ground.many(3)
        assert await first.ask()  # now the second is the oldest
        fourth = await ground.connect()
        assert await second.closed()
        assert all([await peer.ask() for peer in (first, third, fourth)])


async def test_a_peer_with_many_connections_does_not_cost_another_its_own() -> None:
    async with listening(serving(connections=8, per_peer=6)) as ground:
        early = await ground.connect("127.0.0.2")
        await ground.many(40, "127.0.0.3")
        late = await ground.connect("127.0.0.4")
        assert await early.ask()
        assert await late.ask()


async def test_when_the_limit_is_reached_the_peer_with_most_connections_gives_one_up() -> None:
    async with listening(serving(connections=4, per_peer=4)) as ground:
        early = await ground.connect("127.0.0.2")
        greedy = await ground.many(3, "127.0.0.3")
        late = await ground.connect("127.0.0.4")
        assert await greedy[0].closed()
        assert all([await peer.ask() for peer in (early, *greedy[1:], late)])


async def test_a_request_that_is_being_answered_is_not_evicted() -> None:
    going, gate = asyncio.Event(), asyncio.Event()

    async def slow(_: web.BaseRequest) -> web.Response:
        going.set()
        await gate.wait()
        return web.Response(text="ok")

    async with listening(serving(slow, connections=2, per_peer=1)) as ground:
        busy = await ground.connect()
        answered = asyncio.create_task(busy.ask())
        await going.wait()
        assert await (await ground.connect()).closed()
        gate.set()
        assert await answered


@pytest.mark.parametrize("start", [b"", b"G", b"GET / HTTP/1.1\r\nX-A: ", b"\r\n", b"\x16\x03\x01"])
async def test_the_first_request_must_be_complete_in_time_however_its_bytes_trickle(start: bytes) -> None:
    async with listening(serving(first_request=0.2)) as ground:
        peer = await ground.connect()
        peer.writer.write(start)

        async def trickle() -> None:
            while True:
                peer.writer.write(b"x")
                await asyncio.sleep(0.02)

        trickling = asyncio.create_task(trickle())
        assert await peer.closed()
        trickling.cancel()


async def test_an_idle_connection_is_closed_also_with_half_a_request() -> None:
    async with listening(serving(idle=0.2)) as ground:
        silent, half = await ground.many(2)
        assert await silent.ask()
        assert await half.ask()
        half.writer.write(REQUEST[:-3])
        assert await silent.closed()
        assert await half.closed()


async def test_a_peer_that_does_not_read_its_answer_is_hung_up_on() -> None:
    async with listening(serving(large, answer=0.3)) as ground:
        peer = await ground.connect()
        peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
        peer.writer.write(REQUEST)
        await asyncio.sleep(0.5)
        peer.writer.transport.resume_reading()  # type: ignore[attr-defined]
        read = 0
        try:
            while part := await peer.reader.read(2**16):
                read += len(part)
        except ConnectionError:
            pass
        assert read < len(LARGE)


async def test_peers_that_do_not_read_make_room_for_one_that_does() -> None:
    async with listening(serving(large, connections=4, per_peer=4)) as ground:
        for peer in await ground.many(4, "127.0.0.2"):
            peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
            peer.writer.write(REQUEST)
        await turns()
        assert LARGE in await (await ground.connect()).ask()


async def test_pipelined_requests_wait_outside_the_process() -> None:
    """A peer that sends 100,000 requests and reads no answer: reading stops, and others are served."""
    handled = 0

    async def count(_: web.BaseRequest) -> web.Response:
        nonlocal handled
        handled += 1
        return web.Response(body=LARGE[: 2**16])

    async with listening(serving(count)) as ground:
        peer = await ground.connect()
        peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
        peer.writer.write(REQUEST * 100_000)
        for _ in range(20):
            assert await (await ground.connect("127.0.0.2")).ask()
        assert handled < 1000


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nBig: " + b"x" * 100_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"".join(b"H%d: x\r\n" % n for n in range(1000)) + b"\r\n",
        b"GET / HTTP/1.1\r\n" + b"x" * 100_000,
        b"x" * 100_000,
    ],
    ids=["line", "field", "fields", "endless-name", "no-http"],
)
async def test_a_request_head_beyond_its_limits_is_refused_and_closed(sent: bytes) -> None:
    async with listening(serving()) as ground:
        peer = await ground.connect()
        assert b" 200 " not in (await peer.ask(sent))
        assert await peer.closed()
        assert await (await ground.connect()).ask()


async def test_reset_connections_do_not_count_any_more() -> None:
    async with listening(serving(connections=4, per_peer=4)) as ground:
        for peer in await ground.many(4, "127.0.0.2"):
            peer.writer.write(REQUEST[:-2])
            peer.writer.transport.abort()
        await turns()
        kept = await ground.many(4)
        assert all([await peer.ask() for peer in kept])


async def test_closing_ends_every_connection() -> None:
    listener = serving()
    async with listening(listener) as ground:
        idle, fresh = await ground.many(2)
        assert await idle.ask()
        await listener.stop()
        await listener.stop()
        assert await idle.closed()
        assert await fresh.closed()


class Connection(socket.socket):
    """A socket that is never opened."""

    def __init__(self, name: str) -> None:
        self.name, self.open = name, True

    def close(self) -> None:
        self.open = False


async def test_an_address_with_many_does_not_put_another_one_off() -> None:
    turns = Turns(lambda _: None)
    for number in range(5):
        turns.add("a", Connection(f"a{number}"))
    turns.add("b", Connection("b0"))
    assert [(await turns.next()).name for _ in range(len(turns))] == ["a0", "b0", "a1", "a2", "a3", "a4"]  # type: ignore[attr-defined]


async def test_a_connection_beyond_the_share_of_its_address_is_closed() -> None:
    refused: list[str] = []
    turns = Turns(refused.append)
    for number in range(OF_ONE):
        turns.add("a", Connection(f"a{number}"))
    turns.add("a", late := Connection("late"))
    assert (late.open, refused, len(turns)) == (False, ["a"], OF_ONE)


async def test_where_all_is_full_the_address_with_most_gives_its_newest_one_up() -> None:
    refused: list[str] = []
    turns = Turns(refused.append)
    for number in range(IN_ALL):
        turns.add(str(number % (IN_ALL // OF_ONE + 1)) if number >= OF_ONE else "most", Connection("x"))
    turns.add("new", new := Connection("new"))
    assert (new.open, refused, len(turns)) == (True, ["most"], IN_ALL)
