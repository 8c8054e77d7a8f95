"""The pods of one namespace as a watch shows them: the clock of every measurement stops on what it has seen."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec

from muster.kube.resources import core
from muster.kube.transport import Transport

SILENCE = 300.0


class _Metadata(msgspec.Struct, frozen=True, gc=False):
    uid: str = ""
    labels: dict[str, str] = {}
    resourceVersion: str = ""  # noqa: N815 - the wire name


class _Status(msgspec.Struct, frozen=True, gc=False):
    phase: str = ""


class _Pod(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata
    status: _Status = _Status()


class _Event(msgspec.Struct, frozen=True, gc=False):
    type: str
    object: _Pod


class _List(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata


class Watched:
    """Counts of the namespace's pods since the watch began."""

    def __init__(self) -> None:
        self.added = 0
        self.deleted = 0
        self.running: set[str] = set()
        self.by_label: dict[str, int] = {}
        """Pods added, by the value of the label that is counted."""
        self._news = asyncio.Event()

    def sees(self, event: _Event, label: str) -> None:
        """Count one event of the watch."""
        uid = event.object.metadata.uid
        if event.type == "ADDED":
            self.added += 1
            value = event.object.metadata.labels.get(label, "")
            self.by_label[value] = self.by_label.get(value, 0) + 1
        if event.type == "DELETED":
            self.deleted += 1
            self.running.discard(uid)
        elif event.object.status.phase == "Running":
            self.running.add(uid)
        self._news.set()

    async def until(self, holds: Callable[["Watched"], bool], seconds: float = 900.0) -> float:
        """Return the monotonic time at which it held. Raises TimeoutError with what was seen."""
        try:
            async with asyncio.timeout(seconds):
                while not holds(self):
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            seen = f"{self.added} added {self.by_label}, {len(self.running)} running, {self.deleted} deleted"
            raise TimeoutError(f"after {seconds:g} s: {seen}") from None
        return time.monotonic()


@asynccontextmanager
async def watched(transport: Transport, namespace: str, label: str) -> AsyncIterator[Watched]:
    """Watch the namespace's pods, from now on; ``label`` is counted by its values. If it breaks, the block ends."""
    seen, path = Watched(), core(namespace, "pods")
    answer = await transport.request("GET", path, params={"limit": "1"})
    version = msgspec.json.decode(answer.body, type=_List).metadata.resourceVersion
    decoder = msgspec.json.Decoder(_Event)

    async def follow() -> None:
        nonlocal version
        while True:  # the server ends a watch whose reader falls behind, and the reader makes pods as well
            params = {"watch": "true", "resourceVersion": version}
            async with transport.lines(path, params=params, silence=SILENCE) as lines:
                async for line in lines:
                    event = decoder.decode(line)
                    version = event.object.metadata.resourceVersion
                    seen.sees(event, label)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(follow(), name=f"pods of {namespace}")
        yield seen
        task.cancel()
