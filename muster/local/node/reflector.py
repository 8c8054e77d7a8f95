"""List, then watch, then list again when the watch is lost: the owner always knows the present state of a kind.

A list replaces everything: what it does not hold any more is reported as deleted.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from typing import Any

import structlog

from muster.api.errors import ApiError, Expired
from muster.local.node import objects
from muster.local.node.api import Api
from muster.local.node.objects import Object

FIRST_RETRY = 0.2
LAST_RETRY = 10.0
Sink = Callable[[Object, bool], None]
"""Called with every object that came or changed, and with its last known form and True when it was deleted."""


class Reflector:
    """One kind. `objects` is what exists, by uid; `synced` is set after the first list."""

    def __init__(self, api: Api, path: str, sink: Sink, rng: random.Random) -> None:
        self.objects: dict[str, Object] = {}
        self.synced = asyncio.Event()
        self._api = api
        self._path = path
        self._sink = sink
        self._rng = rng
        self._version = ""
        self._log = structlog.get_logger("muster.local.node").bind(watch=path)

    async def run(self) -> None:
        """Until cancelled."""
        delay = FIRST_RETRY
        while True:
            try:
                if not self._version:
                    await self._list()
                delay = FIRST_RETRY
                params = {"resourceVersion": self._version, "timeoutSeconds": "300"}
                async with self._api.watch(self._path, params) as events:
                    await self._follow(events)
            except Expired:
                self._version = ""
            except ApiError as error:
                self._log.info("watch interrupted", error=str(error), retry_in=delay)
                await asyncio.sleep(delay * self._rng.uniform(0.5, 1.0))
                delay = min(delay * 2, LAST_RETRY)

    async def _list(self) -> None:
        answer = await self._api.get(self._path)
        present = {objects.uid(each): each for each in answer.get("items") or ()}
        for uid in [uid for uid in self.objects if uid not in present]:
            self._sink(self.objects.pop(uid), True)
        for uid, value in present.items():
            self.objects[uid] = value
            self._sink(value, False)
        self._version = str(objects.metadata(answer).get("resourceVersion") or "0")
        self.synced.set()

    async def _follow(self, events: AsyncIterator[dict[str, Any]]) -> None:
        async for event in events:
            value: dict[str, Any] = event.get("object") or {}
            kind = event.get("type")
            if kind == "ERROR":
                code = int(value.get("code") or 0)
                self._version = ""  # whatever it is, a fresh list mends it
                raise (Expired if code == 410 else ApiError)(str(value.get("message")), status=code)
            self._version = str(objects.metadata(value).get("resourceVersion") or self._version)
            uid = objects.uid(value)
            if kind == "DELETED":
                self.objects.pop(uid, None)
                self._sink(value, True)
            elif kind in {"ADDED", "MODIFIED"}:
                self.objects[uid] = value
                self._sink(value, False)
