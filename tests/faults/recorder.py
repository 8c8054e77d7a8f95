"""Records everything that happens on the API server, in order, whatever the daemon saw of it."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from math import inf
from typing import Any

import msgspec

from muster.api.names import GROUP, LABEL_EPOCH, LABEL_RANK, VERSION
from muster.kube.resources import ResourceClient

Object = dict[str, Any]
EXPERIMENTS = f"/apis/{GROUP}/{VERSION}/experiments"


@dataclass(slots=True)
class History:
    """What happened in one namespace."""

    statuses: list[Object] = field(default_factory=list)
    """Every status of the experiment, in order."""
    created: Counter[tuple[int, int]] = field(default_factory=Counter)
    """Created pods by epoch and rank, each uid once."""
    deleted: Counter[tuple[int, int]] = field(default_factory=Counter)
    pods: dict[str, Object] = field(default_factory=dict)
    """Existing pods by uid."""
    events: list[Object] = field(default_factory=list)
    overlaps: list[str] = field(default_factory=list)
    """The pods that ran when pods of two epochs did."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def status(self) -> Object:
        """The newest status."""
        return self.statuses[-1] if self.statuses else {}

    def experiment(self, kind: str, obj: Object) -> None:
        """An Experiment changed."""
        status = obj.get("status")
        if kind == "DELETED" or not status or status == self.status:
            return
        self.statuses.append(status)
        if status.get("phase") in ("Succeeded", "Failed"):
            self.ended.set()

    def pod(self, kind: str, obj: Object) -> None:
        """A pod changed."""
        uid, place = obj["metadata"]["uid"], place_of(obj)
        if kind == "DELETED":
            self.pods.pop(uid, None)
            self.deleted[place] += 1
            return
        self.created[place] += uid not in self.pods
        self.pods[uid] = obj
        running = [pod for pod in self.pods.values() if pod["status"].get("phase") == "Running"]
        if len({place_of(pod)[0] for pod in running}) > 1:
            self.overlaps.append(" beside ".join(pod["metadata"]["name"] for pod in running))

    def event(self, kind: str, obj: Object) -> None:
        """An Event was written."""
        if kind == "ADDED":
            self.events.append(obj)


def place_of(pod: Object) -> tuple[int, int]:
    """Epoch and rank."""
    labels = pod["metadata"]["labels"]
    return int(labels[LABEL_EPOCH]), int(labels[LABEL_RANK])


Histories = dict[str, History]
"""The history of every namespace that is recorded."""


def _seen(histories: Histories, take: Callable[[History, str, Object], None]) -> Callable[[str, Object], None]:
    """What is called for every change of a kind: the history of the object's namespace takes it."""

    def saw(kind: str, obj: Object) -> None:
        if history := histories.get(obj["metadata"].get("namespace", "")):
            take(history, kind, obj)

    return saw


async def _follow(api: ResourceClient, path: str, version: str, *handlers: Callable[[str, Object], None]) -> None:
    """Pass on every change after a version. A gap is an error: everything must be recorded."""
    params = {"watch": "true", "resourceVersion": version, "timeoutSeconds": "86400"}
    async with api.transport.lines(path, params=params, silence=inf) as lines:
        async for line in lines:
            event = msgspec.json.decode(line)
            if event["type"] == "ERROR":
                break
            for handle in handlers:
                handle(event["type"], event["object"])
    raise AssertionError(f"the watch of {path} has ended")


@asynccontextmanager
async def recorded(
    api: ResourceClient, tasks: asyncio.TaskGroup, pods: Callable[[str, Object], None]
) -> AsyncIterator[Histories]:
    """Record histories for the duration of the block, and pass each change of a pod on. If a watch fails, so does the
    task group."""
    histories: Histories = {}
    version = str((await api.get("/api/v1/pods"))["metadata"]["resourceVersion"])
    watches = [
        _follow(api, "/api/v1/pods", version, _seen(histories, History.pod), pods),
        _follow(api, EXPERIMENTS, version, _seen(histories, History.experiment)),
        _follow(api, "/api/v1/events", version, _seen(histories, History.event)),
    ]
    following = [tasks.create_task(watch, name=f"recorder {number}") for number, watch in enumerate(watches)]
    try:
        yield histories
    finally:
        for task in following:
            task.cancel()
