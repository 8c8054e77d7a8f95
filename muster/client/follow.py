"""Following a collection: first what is there, then every change, for as long as anybody listens.

This is the watch loop of the client. It ends only by an error that a person must read (no permission, no such kind);
everything else is answered by going on:

- the server ends the watch, as it does every few minutes: watch again from the last version seen;
- the connection breaks, or nothing comes for longer than bookmarks are apart: the same, after a pause that doubles;
- the version is older than the server's history (410): list anew; what vanished meanwhile is reported as DELETED,
  what is still there and has changed as MODIFIED.

The rules of the protocol: Kubernetes API Concepts, "Efficient detection of changes" and "410 Gone responses".
"""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from muster.api.errors import ApiError, Expired, Throttled, Unreachable, error_of
from muster.client.reading import Json, items, mapping, text, whole
from muster.kube.transport import Transport

Kind = Literal["ADDED", "MODIFIED", "DELETED"]

SILENCE = 90.0
"""Seconds without a byte after which a watch is dead; API servers send a bookmark about every 60 s."""
PAGE = 500
PAUSE_FIRST = 0.5
PAUSE_LONGEST = 30.0
YOUNG = 1.0
"""A watch that ends sooner than this, in seconds, counts as a failure.

A server that closes at once must not be hammered.
"""


@dataclass(frozen=True, slots=True)
class Change:
    """One step of a collection; ``object`` is the state after it (before it, for DELETED)."""

    kind: Kind
    object: Json


def key_of(obj: Json) -> tuple[str, str, str]:
    """Which object this is: namespace, name, uid. A deleted and newly made namesake is another one."""
    meta = mapping(obj.get("metadata"))
    return text(meta, "namespace"), text(meta, "name"), text(meta, "uid")


@dataclass(slots=True)
class Follower:
    """Follows one collection. ``retrying`` is told of each interruption, with the seconds until the next attempt."""

    transport: Transport
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    retrying: Callable[[ApiError, float], None] | None = None
    chance: random.Random = field(default_factory=random.Random)
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _known: dict[tuple[str, str, str], Json] = field(default_factory=dict)
    _version: str = ""
    _pause: float = 0.0

    async def everything(self) -> list[Json]:
        """Everything there is, page by page; remembers where to watch from."""
        found: list[Json] = []
        params = {**self.params, "limit": str(PAGE)}
        while True:
            answer = await self.transport.request("GET", self.path, params=params)
            document = _decoded(answer.body)
            found += items(document.get("items"))
            meta = mapping(document.get("metadata"))
            self._version = text(meta, "resourceVersion")
            if not (token := text(meta, "continue")):
                return found
            params["continue"] = token

    async def changes(self) -> AsyncGenerator[Change, None]:
        """First an ADDED for each object there is, then what happens; never ends by itself."""
        listed = False
        while True:
            began = self.clock()
            try:
                if not listed:
                    for change in self._replace(await self.everything()):
                        yield change
                    listed, began = True, self.clock()
                async with contextlib.aclosing(self._watch()) as stream:
                    async for change in stream:
                        self._pause = 0.0
                        yield change
                if self.clock() - began < YOUNG:
                    await self._rest(Unreachable("the server ended the watch at once", request=f"GET {self.path}"))
            except Expired as error:
                listed = False
                if self.clock() - began < YOUNG:
                    await self._rest(error)
            except (Unreachable, Throttled) as error:
                await self._rest(error)
            except ApiError as error:
                if error.status < 500:
                    raise
                await self._rest(error)

    async def _watch(self) -> AsyncGenerator[Change, None]:
        seconds = self.chance.randint(240, 300)
        params = {
            **self.params,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(seconds),
        }
        async with self.transport.lines(self.path, params=params, silence=SILENCE) as lines:
            async for line in lines:
                if line.strip() and (change := self._take(_decoded(line))):
                    yield change

    def _take(self, event: Json) -> Change | None:
        kind, obj = text(event, "type"), mapping(event.get("object"))
        if kind == "ERROR":
            raise error_of(whole(obj, "code"), text(obj, "reason"), text(obj, "message"), request=f"GET {self.path}")
        self._version = text(mapping(obj.get("metadata")), "resourceVersion") or self._version
        if kind == "DELETED":
            self._known.pop(key_of(obj), None)
            return Change("DELETED", obj)
        if kind in ("ADDED", "MODIFIED"):
            fresh = key_of(obj) not in self._known
            self._known[key_of(obj)] = obj
            return Change("ADDED" if fresh else "MODIFIED", obj)
        return None  # a bookmark, or a type of event that is newer than this program

    def _replace(self, found: list[Json]) -> list[Change]:
        """The steps from what was known to what a list showed."""
        before, self._known = self._known, {key_of(obj): obj for obj in found}
        gone = [Change("DELETED", obj) for key, obj in before.items() if key not in self._known]
        new: list[Change] = []
        for key, obj in self._known.items():
            if key not in before:
                new.append(Change("ADDED", obj))
            elif before[key] != obj:
                new.append(Change("MODIFIED", obj))
        return gone + new

    async def _rest(self, error: ApiError) -> None:
        self._pause = min(PAUSE_LONGEST, self._pause * 2 or PAUSE_FIRST)
        seconds = max(self._pause * (0.5 + self.chance.random() / 2), error.retry_after or 0.0)
        if self.retrying is not None:
            self.retrying(error, seconds)
        await self.sleep(seconds)


def _decoded(data: bytes) -> Json:
    try:
        document: Any = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise Unreachable(f"the server sent something that is not JSON: {error}") from error
    return mapping(document)
