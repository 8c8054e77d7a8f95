"""A cluster in this process, a fake API, and pods for the tests of the node agent."""

import asyncio
import contextlib
import functools
import json
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import structlog

from muster.api.errors import Conflict, NotFound
from muster.kube.authentication.credentials import ClusterAccess
from muster.kube.connection import Connection
from muster.kube.listwatch.informer import Informer, changes
from muster.kube.resources import ResourceClient
from muster.kube.transport import Answer
from muster.local.apiserver import ApiServer
from muster.local.node import Isolation, NodeAgent
from muster.local.node.isolation.levels import refusal
from muster.local.node.scheduling.fit import amounts
from muster.local.node.scheduling.scheduler import Scheduler

refused = functools.lru_cache(maxsize=8)(refusal)
"""Why this machine does not permit an isolation; it is tried once."""
TIMEOUT_SECONDS = 40.0
PODS = "/api/v1/namespaces/default/pods"
Pod = dict[str, Any]


def container(script: str = "", *, name: str = "main", **fields: Any) -> Pod:
    """A container that runs a Python script."""
    return {"name": name, "image": "muster.local/python:3", "command": ["python3", "-u", "-c", script]} | fields


def pod(name: str, *containers: Pod, labels: Mapping[str, str] | None = None, **spec: Any) -> Pod:
    """A pod in namespace `default` with restartPolicy Never and a grace period of 2 s."""
    defaults = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 2}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": dict(labels or {})},
        "spec": defaults | {"containers": list(containers)} | spec,
    }


class Cluster:
    """An API server and a node agent, with the operations of a user."""

    def __init__(self, url: str, agent: NodeAgent, connection: Connection) -> None:
        self.url = url
        self.agent = agent
        self.api = ResourceClient(connection)

    async def create(self, made: Pod) -> Pod:
        return await self.api.create(PODS, made)

    async def get(self, name: str) -> Pod:
        return await self.api.get(f"{PODS}/{name}")

    async def delete(self, name: str, **options: Any) -> None:
        await self.api.delete(f"{PODS}/{name}", options)

    async def until(self, name: str, holds: Callable[[Pod], bool]) -> Pod:
        """Watch a pod until a condition holds for it; returns it."""
        seen: Pod = {}
        stream = changes(self.api.transport, PODS, {"fieldSelector": f"metadata.name={name}"})
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS), contextlib.aclosing(stream):
                async for change in stream:
                    seen = change.object
                    if change.kind != "DELETED" and holds(seen):
                        return seen
        except TimeoutError:
            pytest.fail(f"pod {name} never got there; last seen: {json.dumps(seen.get('status'), indent=1)}")
        raise AssertionError("unreachable: the stream never ends by itself")

    async def phase(self, name: str, phase: str) -> Pod:
        return await self.until(name, lambda each: each.get("status", {}).get("phase") == phase)

    async def gone(self, name: str) -> None:
        """Wait until the pod object does not exist."""
        changed = asyncio.Event()
        chosen = {"fieldSelector": f"metadata.name={name}"}
        informer = Informer(
            self.api.transport,
            PODS,
            chosen,
            changed=lambda _kind, _pod: changed.set(),
            report=structlog.get_logger().info,
        )
        following = asyncio.create_task(informer.run(), name=f"until {name} is gone")
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await informer.synced.wait()
                while informer.objects:
                    changed.clear()
                    await changed.wait()
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    async def log(self, name: str, container: str = "main", **options: Any) -> str:
        lines = self.agent.logs.read("default", name, container, **options)
        return b"".join([line async for line in lines]).decode()


ClusterOf = Callable[..., contextlib.AbstractAsyncContextManager[Cluster]]


@contextlib.asynccontextmanager
async def running_cluster(isolation: Isolation | None, state_dir: Path, **options: Any) -> AsyncIterator[Cluster]:
    reason = None if isolation is None else await asyncio.to_thread(refused, isolation)
    if reason is not None:
        pytest.skip(f"no {isolation} on this machine: {reason}")
    server = ApiServer(None)
    url = await server.start()
    agent = NodeAgent(ClusterAccess(url), state_dir=state_dir, isolation=isolation, back_off=0.2, **options)
    server.pods.logs = agent.logs
    server.pods.commands = agent
    try:
        await agent.start()
        connection = await Connection.open(ClusterAccess(url))
        try:
            yield Cluster(url, agent, connection)
        finally:
            await agent.stop(0.0)
            await connection.aclose()
    finally:
        await server.stop()


class FakeApi:
    """A ``Transport`` with objects by path, which records the requests, for tests without processes."""

    def __init__(self) -> None:
        self.objects: dict[str, Pod] = {}
        self.asked: list[tuple[str, str, Any]] = []
        self.refuse: list[Exception | None] = []
        self.version = 100

    async def request(self, method: str, path: str, *, body: bytes | None = None, **_: Any) -> Answer:
        document = None if body is None else json.loads(body)
        self.asked.append((method, path, document))
        if self.refuse and (error := self.refuse.pop(0)) is not None:
            raise error
        if method == "PATCH":
            answer = self._merge(path, document or {})
        elif method == "GET":
            if path not in self.objects:
                raise NotFound(path, status=404)
            answer = self.objects[path]
        else:
            answer = document or {}
        return Answer(200, json.dumps(answer).encode())

    def lines(
        self, path: str, *, params: Mapping[str, str], silence: float
    ) -> contextlib.AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise AssertionError("nothing is watched through this transport")

    def _merge(self, path: str, patch: Mapping[str, Any]) -> Pod:
        target = self.objects.setdefault(path.removesuffix("/status"), {"metadata": {}})
        expected = (patch.get("metadata") or {}).get("resourceVersion")
        if expected not in (None, target["metadata"].get("resourceVersion")):
            raise Conflict("the object has been modified", status=409)
        self.version += 1
        target["metadata"]["resourceVersion"] = str(self.version)
        target.setdefault("status", {}).update(patch.get("status", {}))
        return target

    def patches(self) -> list[Any]:
        return [body for verb, _, body in self.asked if verb == "PATCH"]


class Scheduling:
    """A node's scheduler, the pods that it sees, and the API that it asks."""

    def __init__(self, api: FakeApi, **capacity: str) -> None:
        self.api = api
        self.pods: dict[str, Pod] = {}
        client, had = ResourceClient(api), amounts(capacity)
        self.scheduler = Scheduler(client, self.pods, node="local", node_labels={}, capacity=had, clock=lambda: 0)

    def add(self, name: str, seconds: int = 0, **requests: str) -> Pod:
        """A pod that was created at that second."""
        made = pod(name, container(resources={"requests": requests}))
        made["metadata"] |= {
            "uid": name,
            "creationTimestamp": f"2026-01-01T00:00:{seconds:02}Z",
            "resourceVersion": "1",
        }
        self.pods[name] = made
        return made

    async def bound(self) -> list[str]:
        """The names of the pods that the scheduler binds now."""
        del self.api.asked[:]
        assert await self.scheduler.schedule()
        return [path.split("/")[-2] for verb, path, _ in self.api.asked if verb == "POST" and path.endswith("/binding")]
