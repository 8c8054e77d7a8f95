"""1,000 real connections that each ask a real musterd for a live page of 10,000 ranks: what they get, and what is left.

Judged are counts and memory, not times.
"""

import asyncio
import resource
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from muster.api.names import API_VERSION, KIND
from muster.daemon.web.connections import Limits
from muster.daemon.web.live import StreamLimits
from tests.e2e.environment import Environment, environment

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

PEERS, EACH = 40, 25
"""Addresses of the loopback network, and connections of each."""
STREAM = b"GET /events/experiments/default/large?version=mine HTTP/1.1\r\nHost: localhost\r\n\r\n"
MEGABYTES = 40
"""What the streams may cost while they are open, and what may be kept of it."""
LARGE = {
    "apiVersion": API_VERSION,
    "kind": KIND,
    "metadata": {"name": "large", "namespace": "default"},
    "spec": {
        "operator": "jax",
        "image": "none",
        "command": "true",
        "suspend": True,
        "types": {"worker": {"count": 10_000, "resources": {"cpus": 1, "ramRatio": 2}}},
    },
}


@dataclass
class Stream:
    """One connection, and what is read of it: its status, and whether it still stands."""

    peer: str
    writer: asyncio.StreamWriter
    reading: asyncio.Task[None]
    status: str = ""

    @property
    def live(self) -> bool:
        return self.status == "200" and not self.reading.done()


async def follow(port: int, peer: str) -> Stream:
    """Ask for the page as a browser does, and read what comes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(peer, 0))

    async def read() -> None:
        with suppress(ConnectionError):
            head = await reader.readline()
            if head:
                found.status = head.split()[1].decode()
            while await reader.read(2**16):
                pass

    found = Stream(peer, writer, asyncio.create_task(read()))
    writer.write(STREAM)
    return found


def megabytes(pid: int) -> float:
    """Resident memory."""
    line = next(each for each in Path(f"/proc/{pid}/status").read_text().splitlines() if each.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


def sockets(pid: int) -> int:
    """How many a process has open."""
    found = 0
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            found += str(each.readlink()).startswith("socket:")
    return found


async def answers(cluster: Environment, *paths: str) -> list[int]:
    url = f"http://127.0.0.1:{cluster.port}"
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(60)) as session:
        found = []
        for path in paths:
            async with session.get(url + path) as answer:
                await answer.read()
                found.append(answer.status)
        return found


async def settled(streams: list[Stream]) -> None:
    """Wait until each connection was answered or closed."""
    await until(lambda: all(each.status or each.reading.done() for each in streams))


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what happens in another process."""
    while not holds():  # noqa: ASYNC110
        await asyncio.sleep(0.2)


async def test_a_thousand_streams_are_limited_and_leave_nothing_behind(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 2 * PEERS * EACH:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    async with environment(tmp_path / "state") as cluster:
        await cluster.start_daemon()
        await cluster.client.resources.create(f"/apis/{API_VERSION}/namespaces/default/experiments", LARGE)
        await cluster.until("large", lambda seen: seen.phase == "Suspended")
        assert cluster.daemon is not None
        pid = cluster.daemon.process.pid
        page = "/experiments/default/large"
        assert await answers(cluster, page, page, page, "/metrics", "/livez") == [200] * 5
        before, idle = megabytes(pid), sockets(pid)

        streams = [await follow(cluster.port, f"127.0.1.{peer}") for _ in range(EACH) for peer in range(1, PEERS + 1)]
        await settled(streams)
        live = Counter(each.peer for each in streams if each.live)
        assert live.total() == StreamLimits().streams
        assert max(live.values()) <= StreamLimits().per_peer
        assert {each.status for each in streams} <= {"200", "503", ""}
        assert sockets(pid) - idle <= Limits().connections
        assert await answers(cluster, "/livez", "/readyz", "/metrics", "/experiments.json") == [200] * 4
        assert sum(each.live for each in streams) == StreamLimits().streams, "a stream was given up for a request"
        assert megabytes(pid) - before < MEGABYTES

        for each in streams:
            each.writer.transport.abort()
        await asyncio.gather(*(each.reading for each in streams))
        await until(lambda: sockets(pid) <= idle + 2)
        again = [await follow(cluster.port, "127.0.0.1") for _ in range(StreamLimits().per_peer)]
        await settled(again)
        assert [each.status for each in again] == ["200"] * len(again), "a stream that was left still counts"
        for each in again:
            each.writer.transport.abort()
        await asyncio.gather(*(each.reading for each in again))
        assert megabytes(pid) - before < MEGABYTES
