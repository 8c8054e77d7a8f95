"""What the stories about the local node share: an API server in this process, an agent beside it, and pods."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from muster.api.errors import Conflict, NotFound
from muster.local.apiserver import ApiServer
from muster.local.node import Isolation, NodeAgent
from muster.local.node.client import HttpApi
from muster.local.node.isolation.levels import refusal

PATIENCE = 40.0
Pod = dict[str, Any]
MakePod = Callable[..., Pod]


def container(script: str = "", *, name: str = "main", **fields: Any) -> Pod:
    """A container that runs a Python script."""
    return {"name": name, "image": "muster.local/python:3", "command": ["python3", "-u", "-c", script]} | fields


def pod(name: str, *containers: Pod, labels: Mapping[str, str] | None = None, **spec: Any) -> Pod:
    """A pod of the namespace `default` that is not restarted and has two seconds to end."""
    defaults = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 2}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": dict(labels or {})},
        "spec": defaults | {"containers": list(containers)} | spec,
    }


class Cluster:
    """An API server and a node agent, and what a user would do with them."""

    def __init__(self, url: str, agent: NodeAgent) -> None:
        self.url = url
        self.agent = agent
        self.api = HttpApi(url, None)

    async def create(self, made: Pod) -> Pod:
        return await self.api.create("/api/v1/namespaces/default/pods", made)

    async def get(self, name: str) -> Pod:
        return await self.api.get(f"/api/v1/namespaces/default/pods/{name}")

    async def delete(self, name: str, **options: Any) -> None:
        await self.api.delete(f"/api/v1/namespaces/default/pods/{name}", options)

    async def until(self, name: str, holds: Callable[[Pod], bool]) -> Pod:
        """The pod as soon as something holds of it; wakes with the watch."""
        seen: Pod = {}
        try:
            async with asyncio.timeout(PATIENCE):
                async with self.api.watch("/api/v1/namespaces/default/pods", {"resourceVersion": "0"}) as events:
                    async for event in events:
                        value = event["object"]
                        if event["type"] != "BOOKMARK" and value["metadata"]["name"] == name:
                            seen = value
                            if event["type"] != "DELETED" and holds(seen):
                                return seen
        except TimeoutError:
            pytest.fail(f"pod {name} never got there; last seen: {json.dumps(seen.get('status'), indent=1)}")
        raise AssertionError("the watch ended")

    async def phase(self, name: str, phase: str) -> Pod:
        return await self.until(name, lambda each: each.get("status", {}).get("phase") == phase)

    async def gone(self, name: str) -> None:
        """Wait until the pod object does not exist."""
        async with asyncio.timeout(PATIENCE):
            listed = await self.api.get("/api/v1/namespaces/default/pods")
            if all(each["metadata"]["name"] != name for each in listed["items"]):
                return
            since = {"resourceVersion": listed["metadata"]["resourceVersion"]}
            async with self.api.watch("/api/v1/namespaces/default/pods", since) as events:
                async for event in events:
                    if event["type"] == "DELETED" and event["object"]["metadata"]["name"] == name:
                        return

    async def log(self, name: str, container: str = "main", **options: Any) -> str:
        lines = self.agent.logs.read("default", name, container, **options)
        return b"".join([line async for line in lines]).decode()


ClusterOf = Callable[..., contextlib.AbstractAsyncContextManager[Cluster]]


@contextlib.asynccontextmanager
async def running_cluster(isolation: Isolation | None, state_dir: Path, **options: Any) -> AsyncIterator[Cluster]:
    reason = None if isolation is None else await asyncio.to_thread(refusal, isolation)
    if reason is not None:
        pytest.skip(f"no {isolation} on this machine: {reason}")
    server = ApiServer(None)
    url = await server.start()
    agent = NodeAgent(url, token=None, state_dir=state_dir, isolation=isolation, back_off=0.2, **options)
    server.pod_logs = agent.logs
    try:
        await agent.start()
        cluster = Cluster(url, agent)
        try:
            yield cluster
        finally:
            await agent.stop(0.0)
            await cluster.api.close()
    finally:
        await server.stop()


class FakeApi:
    """An API server of a few dictionaries, for stories in which nothing runs: objects by path, and what was asked."""

    def __init__(self) -> None:
        self.objects: dict[str, Pod] = {}
        self.asked: list[tuple[str, str, Any]] = []
        self.refuse: list[Exception | None] = []
        self.streams: dict[str, asyncio.Queue[Pod | Exception]] = {}
        self.version = 100

    async def get(self, path: str) -> Pod:
        self._ask("GET", path, None)
        if path not in self.objects:
            raise NotFound(path, status=404)
        return copy.deepcopy(self.objects[path])

    async def create(self, path: str, body: Mapping[str, Any]) -> Pod:
        self._ask("POST", path, body)
        return dict(body)

    async def merge(self, path: str, patch: Mapping[str, Any]) -> Pod:
        self._ask("PATCH", path, patch)
        target = self.objects.setdefault(path.removesuffix("/status"), {"metadata": {}})
        expected = (patch.get("metadata") or {}).get("resourceVersion")
        if expected not in (None, target["metadata"].get("resourceVersion")):
            raise Conflict("the object has been modified", status=409)
        self.version += 1
        target["metadata"]["resourceVersion"] = str(self.version)
        target.setdefault("status", {}).update(json.loads(json.dumps(patch.get("status", {}))))
        return copy.deepcopy(target)

    async def delete(self, path: str, options: Mapping[str, Any]) -> None:
        self._ask("DELETE", path, options)

    @contextlib.asynccontextmanager
    async def watch(self, path: str, params: Mapping[str, str]) -> AsyncIterator[AsyncIterator[Pod]]:
        self._ask("WATCH", path, dict(params))
        yield self._events(self.streams.setdefault(path, asyncio.Queue()))

    async def _events(self, queue: asyncio.Queue[Pod | Exception]) -> AsyncIterator[Pod]:
        while True:
            event = await queue.get()
            if isinstance(event, Exception):
                raise event
            yield event

    def _ask(self, verb: str, path: str, body: Any) -> None:
        self.asked.append((verb, path, body))
        if self.refuse and (error := self.refuse.pop(0)) is not None:
            raise error

    def patches(self) -> list[Any]:
        return [body for verb, _, body in self.asked if verb == "PATCH"]


@pytest.fixture
def fake_api() -> FakeApi:
    return FakeApi()


@pytest.fixture
def make_pod() -> MakePod:
    return pod


@pytest.fixture
def make_container() -> MakePod:
    return container


@pytest.fixture
def cluster_of(tmp_path: Path) -> ClusterOf:
    """`async with cluster_of(isolation) as cluster:`; skips where the machine does not permit the isolation."""
    return lambda isolation, **options: running_cluster(isolation, tmp_path / "state", **options)
