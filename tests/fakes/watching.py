"""Watches of an API server in memory: from a version or with a streamed list, with bookmarks, timeouts and 410.

A courier decides when and whether a change is delivered to a stream; without one, every change is delivered at once.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Protocol

from muster.api.errors import Expired, Unreachable
from muster.kinds.registry import RUN_KINDS, WATCHED_KINDS
from tests.fakes.history import Change, Chosen, History, Object, encode

BOOKMARK = 60.0
"""Seconds between bookmarks (kubernetes: apiserver/pkg/storage/cacher, defaultBookmarkFrequency)."""
STALL = 5.0
"""A change that is withheld for longer than this stops the stream's bookmarks, too: the server itself lags behind."""

KINDS = {
    **{each.subject.plural: each.subject.kind for each in RUN_KINDS.values()},
    **{each.subject.plural: each.subject.kind for each in WATCHED_KINDS.values()},
    "nodes": "Node",
    "pods": "Pod",
    "services": "Service",
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "events": "Event",
    "experiments": "Experiment",
    "leases": "Lease",
    "configmaps": "ConfigMap",
    "workloads": "Workload",
    "resourceflavors": "ResourceFlavor",
    "workloadpriorityclasses": "WorkloadPriorityClass",
}


@dataclass(frozen=True, slots=True)
class Delivery:
    """How a change is delivered: at which wall-clock second, how often (0: never), or as a 410 that ends the stream."""

    at: float = 0.0
    copies: int = 1
    expire: bool = False


class Courier(Protocol):
    """Decides how changes are delivered to the streams of one client."""

    def carry(self, collection: str, change: Change) -> Delivery:
        """How to deliver that change; asked whenever the stream checks for changes."""
        ...

    def opening(self, collection: str) -> int | None:
        """The version at which a streamed list of this client is answered; None: the current one."""
        ...

    def ends(self, collection: str, began: float) -> float:
        """When a stream that began at that second ends with 410; ``inf``: never because of the courier."""
        ...


class Prompt:
    """Delivers every change at once."""

    def carry(self, collection: str, change: Change) -> Delivery:
        return Delivery()

    def opening(self, collection: str) -> int | None:
        return None

    def ends(self, collection: str, began: float) -> float:
        return inf


class Watches:
    """All open streams. ``clock`` gives wall-clock seconds."""

    def __init__(self, history: History, clock: Callable[[], float]) -> None:
        self._history = history
        self._clock = clock
        self._streams: dict[asyncio.Event, str] = {}
        self._cuts = 0

    def __len__(self) -> int:
        return len(self._streams)

    def cut(self) -> None:
        """The server goes away: every stream ends without a word."""
        self._cuts += 1
        for stream in self._streams:
            stream.set()

    def look(self, plural: str) -> None:
        """Ask again when the streams of that kind end."""
        for stream, collection in self._streams.items():
            if collection.endswith(f"/{plural}"):
                stream.set()

    def wake(self, change: Change) -> None:
        """A change was committed."""
        for stream, collection in self._streams.items():
            if change.within(collection):
                stream.set()

    async def stream(
        self, collection: str, params: Mapping[str, str], silence: float, chosen: Chosen, courier: Courier
    ) -> AsyncIterator[bytes]:
        """The lines of one watch."""
        history, wake = self._history, asyncio.Event()
        began = last_sent = self._clock()
        end = began + float(params.get("timeoutSeconds") or inf)
        if params.get("sendInitialEvents") == "true":
            opening = courier.opening(collection)
            version = history.version if opening is None else opening
            for first in _initial(history.state(version), collection, chosen, version):
                yield first
        else:
            version = int(params.get("resourceVersion") or history.version)
            if version < history.forgotten:
                raise Expired(f"too old resource version: {version}", status=410, reason="Expired")
        index, asked, cuts = history.after(version), version, self._cuts
        bookmark = began + BOOKMARK
        self._streams[wake] = collection
        try:
            while True:
                now, due = self._clock(), inf
                gone = courier.ends(collection, began)
                if self._cuts > cuts:
                    raise Unreachable("the connection was closed", request=f"GET {collection}")
                if now >= gone:
                    yield _expired(version)
                    return
                while index < len(history.changes):
                    change = history.changes[index]
                    # A server that has not come to a version sends nothing until it has (apiserver: storage/cacher).
                    wanted = change.version > asked and change.within(collection)
                    line = change.line(chosen) if wanted else None
                    if line is not None:
                        delivery = courier.carry(collection, change)
                        if delivery.at > now:
                            due = delivery.at
                            break
                        if delivery.expire:
                            yield _expired(change.version)
                            return
                        for _ in range(delivery.copies):
                            last_sent = now
                            yield line
                    version, index = change.version, index + 1
                if due - now > STALL and due is not inf:
                    bookmark = due  # a server that lags behind sends no bookmarks
                elif now >= bookmark:
                    bookmark = now + BOOKMARK
                    if history.version >= asked:
                        last_sent = now
                        yield _bookmark(collection, version)
                if now >= end:
                    return
                if now - last_sent >= silence:
                    raise Unreachable(f"nothing came for {silence:g} s", reason="Silent", request=f"GET {collection}")
                wake.clear()
                if index >= len(history.changes) or due is not inf:
                    gone = courier.ends(collection, began)
                    await self._wait(wake, min(due, gone, bookmark, end, last_sent + silence) - self._clock())
        finally:
            self._streams.pop(wake, None)

    @staticmethod
    async def _wait(wake: asyncio.Event, seconds: float) -> None:
        if seconds == inf:
            await wake.wait()
            return
        timer = asyncio.get_running_loop().call_later(max(seconds, 0.0), wake.set)
        try:
            await wake.wait()
        finally:
            timer.cancel()


def _initial(objects: Mapping[str, Object], collection: str, chosen: Chosen, version: int) -> list[bytes]:
    lines = []
    for path, obj in objects.items():
        change = Change(version, "ADDED", path, None, obj, 0.0)
        if change.within(collection) and (line := change.line(chosen)):
            lines.append(line)
    lines.append(_bookmark(collection, version, {"k8s.io/initial-events-end": "true"}))
    return lines


def _bookmark(collection: str, version: int, annotations: Mapping[str, str] | None = None) -> bytes:
    metadata: Object = {"resourceVersion": str(version)}
    if annotations:
        metadata["annotations"] = dict(annotations)
    kind = KINDS[collection.rsplit("/", 1)[1]]
    return encode({"type": "BOOKMARK", "object": {"kind": kind, "metadata": metadata}})


def _expired(version: int) -> bytes:
    status = {"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired"}
    return encode({"type": "ERROR", "object": {**status, "message": f"too old resource version: {version}"}})
