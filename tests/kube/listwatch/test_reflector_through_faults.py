"""A reflector follows a real API server through a bad network, and ends with the objects of the server.

The server is the local cluster's; the transport breaks watches and lists at random. The differences that the store
reported must add up to its content.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from muster.api.errors import Expired, Throttled, Unreachable
from muster.api.names import SELECTOR
from muster.kube.connection import Connection
from muster.kube.listwatch.reflector import Reflector, ReflectorSettings
from muster.kube.listwatch.sink_feed import list_all
from muster.kube.listwatch.store import Store
from muster.kube.transport import Answer
from muster.local.apiserver import ApiServer
from muster.state.vocabulary.pod import Pod
from muster.watchers.pods import decode as pods
from tests.fakes.apiserver import ApiServer as Address

PODS = "/api/v1/namespaces/default/pods"


class BadNetwork:
    """A ``Transport`` that loses requests and lines at random while ``bad`` is set."""

    def __init__(self, connection: Connection, random: Random) -> None:
        self.bad = True
        self.losses = 0
        self._connection = connection
        self._random = random

    async def request(self, method: str, path: str, **options: Any) -> Answer:
        if self._lose(0.3):
            raise Throttled("too many", status=429, retry_after=1.0)
        if self._lose(0.2) and "continue" in options["params"]:
            raise Expired("the token is too old", status=410)
        return await self._connection.request(method, path, **options)

    @asynccontextmanager
    async def lines(
        self, path: str, *, params: Mapping[str, str], silence: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        if "resourceVersion" in params and self._lose(0.2):
            raise Expired("too old resource version", status=410)
        async with self._connection.lines(path, params=params, silence=silence) as lines:
            yield self._lossy(lines)

    async def _lossy(self, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for line in lines:
            if self._lose(0.2):
                raise Unreachable("reset by peer")
            yield line

    def _lose(self, probability: float) -> bool:
        lost = self.bad and self._random.random() < probability
        self.losses += lost
        return lost


def body(name: str) -> bytes:
    labels = {SELECTOR: "uid-1", "muster.dev/rank": name.removeprefix("p")}
    pod = {"metadata": {"name": name, "labels": labels}, "spec": {"containers": [{"name": "main", "image": "x"}]}}
    return json.dumps(pod).encode()


async def disturb(connection: Connection, random: Random, steps: int, looks: Callable[[], Awaitable[object]]) -> None:
    """Create, relabel (out of the selector and back) and delete pods, and read them past the watch."""
    alive: set[str] = set()
    for number in range(steps):
        if random.random() < 0.2:
            await looks()
        if not alive or random.random() < 0.4:
            await connection.request("POST", PODS, body=body(f"p{number}"))
            alive.add(f"p{number}")
            continue
        name = random.choice(sorted(alive))
        if random.random() < 0.3:
            alive.remove(name)
            await connection.request("DELETE", f"{PODS}/{name}", params={"gracePeriodSeconds": "0"})
            continue
        label = random.choice(["uid-1", "uid-1", None])
        patch = {"metadata": {"labels": {SELECTOR: label, "step": str(number)}}}
        await connection.request(
            "PATCH", f"{PODS}/{name}", body=json.dumps(patch).encode(), content_type="application/merge-patch+json"
        )


async def truth(connection: Connection) -> tuple[dict[str, Pod], int]:
    answer = await connection.request("GET", pods.PATH, params={"labelSelector": SELECTOR})
    page = pods.DECODER.page(answer.body)
    return page.objects, page.version


@pytest.mark.parametrize("seed", range(6))
async def test_the_store_ends_equal_to_the_server(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    server = ApiServer(None, bookmark_seconds=0.1, history=32)
    connection = await Connection.from_settings(Address(url=await server.start()).kubeconfig(tmp_path))
    network = BadNetwork(connection, random)
    mirror: dict[str, Pod] = {}
    advanced = asyncio.Event()

    def changed(old: Pod | None, new: Pod | None) -> None:
        if old is not None:
            assert mirror.pop(old.uid) == old
        if new is not None:
            assert new.uid not in mirror
            mirror[new.uid] = new

    store: Store[Pod] = Store(changed, lambda _version: advanced.set())
    reflector = Reflector(
        network,
        pods.PATH,
        {"labelSelector": SELECTOR},
        pods.DECODER,
        store,
        clock=asyncio.get_running_loop().time,
        random=random,
        sleep=lambda _seconds: asyncio.sleep(0),
        report=lambda message, **fields: None,
        settings=ReflectorSettings(silence=5.0, page_size=3, streamed_list=bool(seed % 2)),
    )

    async def look() -> None:
        query = {"labelSelector": SELECTOR}
        found = await list_all(connection, pods.PATH, query, pods.DECODER, page_size=3)
        if store.synced:
            reflector.feed.learn(found, list(store))

    task = asyncio.create_task(reflector.run(), name="reflector")
    try:
        await disturb(connection, random, 80, look)
        network.bad = False
        expected, version = await truth(connection)
        while store.version < version or not store.synced:
            advanced.clear()
            await asyncio.wait_for(advanced.wait(), timeout=10)
        assert store.objects == expected
        assert mirror == expected
        assert network.losses > 5
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await connection.aclose()
        await server.stop()
