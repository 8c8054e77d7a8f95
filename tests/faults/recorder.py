"""Records everything that happens on the API server, in order, whatever the daemon saw of it."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from muster.api.names import LABEL_EPOCH, LABEL_RANK
from tests.faults.direct import EXPERIMENTS, Direct, Object
from tests.faults.kubelet import Kubelet


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


async def _follow(direct: Direct, path: str, version: str, *handlers: Callable[[str, Object], None]) -> None:
    async for kind, obj in direct.watch(path, version):
        for handle in handlers:
            handle(kind, obj)


@asynccontextmanager
async def observers(direct: Direct) -> AsyncIterator[tuple[Histories, Kubelet]]:
    """Record histories, and run a kubelet. If one of them fails, so does the block."""
    histories: Histories = {}
    version = (await direct.expect_ok("GET", "/api/v1/pods"))["metadata"]["resourceVersion"]
    async with asyncio.TaskGroup() as tasks:
        kubelet = Kubelet(direct, tasks)
        watches = [
            _follow(direct, "/api/v1/pods", version, _seen(histories, History.pod), kubelet.changed),
            _follow(direct, EXPERIMENTS, version, _seen(histories, History.experiment)),
            _follow(direct, "/api/v1/events", version, _seen(histories, History.event)),
        ]
        following = [tasks.create_task(watch, name=f"recorder {number}") for number, watch in enumerate(watches)]
        try:
            yield histories, kubelet
        finally:
            for task in following:
                task.cancel()
