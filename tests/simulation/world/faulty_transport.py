"""One daemon's way to the API server, and everything that goes wrong on it.

The server keeps the truth; the door holds answers back, spoils them, counts the daemon's writes, and kills it at one of
them. A dead daemon's door lets nothing through any more, whatever its tasks still try while they are taken down.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from math import inf
from typing import TYPE_CHECKING, NoReturn

from muster.api.names import PLURAL
from muster.kube.transport import Answer
from muster.watchers.pods.decode import SELECTOR
from tests.fakes.history import Change, encode
from tests.fakes.watching import Delivery
from tests.simulation.oracles.own_writes import OwnWrites
from tests.simulation.plans.plan import BEHIND, REPAIR, Fault, error

if TYPE_CHECKING:
    from tests.simulation.world.world import World

LATENCY = 0.002
"""Seconds a request, an answer or an event takes."""
QUIET_RESOURCES = ("leases",)
"""What is written all the time and is no work."""


class Door:
    """See ``muster.kube.transport.Transport``. ``stale`` is the version at which the first lists are answered."""

    def __init__(self, world: "World", stale: int | None = None) -> None:
        self.world = world
        self.dead = False
        self._stale = None if stale is None else min(stale, world.api.history.version)
        self._born = world.clock()
        self._synced: set[str] = set()
        self.own = OwnWrites(world)
        self._due: dict[tuple[str, int], float] = {}
        self._breaks: list[float] = []
        """When watches end because something was lost on one of them."""

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        timeout: float | None = None,
    ) -> Answer:
        await self._way()
        if method == "GET":
            answer = await self._read(path, params or {})
        elif path.split("/")[-2] in QUIET_RESOURCES or path.endswith(QUIET_RESOURCES):
            answer = await self.world.api.request(method, path, params=params, body=body)
        else:
            answer = await self._write(method, path, body)
        await self._way()
        return answer

    def lines(
        self, path: str, *, params: Mapping[str, str], silence: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        if params.get("sendInitialEvents") != "true":
            self._synced.add(path)  # it has listed in pages
        return self.world.api.lines(path, params=params, silence=silence, courier=self)

    # Requests

    async def _way(self) -> None:
        """The time a message takes; for ever once the daemon is dead."""
        if not self.dead:
            await asyncio.sleep(self.world.delay(LATENCY))
        if self.dead:
            await _forever()

    async def _read(self, path: str, params: Mapping[str, str]) -> Answer:
        cached = params.get("labelSelector") == SELECTOR or path.endswith(f"/{PLURAL}")  # a cache's own list
        if cached and (version := self.opening(path)) is not None:
            return Answer(200, encode(self.world.api.page(path, params, version)))
        return await self.world.api.request("GET", path, params=params)

    async def _write(self, method: str, path: str, body: bytes | None) -> Answer:
        number = self.world.write(method, path, self)
        self.own.sends(method, path, body)
        fault = self.world.fault_of_write(number)
        if fault is not None and fault.kind == "refuse":
            raise error(fault.how, f"{method} {path}")
        if fault is not None and fault.kind in ("crash-before", "late"):
            if fault.kind == "late":
                self.world.land_later(float(fault.how), method, path, body)
            await self._die(fault)
        answer = await self.world.api.request(method, path, body=body)
        self.world.committed(number)
        self.world.invariants.wrote(method, path, body or b"")
        if fault is not None and fault.kind == "lose":
            await self._way()
            raise error(fault.how, f"{method} {path}")
        if fault is not None:
            await self._die(fault)
        self.own.answered(method, path, body, answer)
        return answer

    async def _die(self, fault: Fault) -> NoReturn:
        """The end of this life, unless another fault of the same instant has brought it already."""
        if not self.dead:
            self.dead = True
            self.world.crash(fault)
        await _forever()

    @property
    def synced(self) -> bool:
        """The daemon was given a full list of everything it watches."""
        return len(self._synced) >= 3

    # Events: what a courier is asked

    def opening(self, collection: str) -> int | None:
        """A daemon that begins with a stale list gets it for as long as its watches stay behind."""
        self._synced.add(collection)
        if self._stale is not None and self.world.clock() < self._born + BEHIND:
            return self._stale
        return None

    def carry(self, collection: str, change: Change) -> Delivery:
        key = (collection, change.version)
        due = self._due.get(key)
        if due is None:
            due = self._due[key] = self._when(change)
        for fault in self.world.plan.faults:
            if fault.meets(change.version) and fault.kind in ("drop", "double", "expire"):
                return self._mistreat(fault, due)
        return Delivery(due)

    def ends(self, collection: str, began: float) -> float:
        if not self._breaks:
            return inf
        return min((at for at in self._breaks if at > began), default=inf)

    def _when(self, change: Change) -> float:
        due = change.at + self.world.delay(LATENCY)
        if self._stale is not None and change.version > self._stale:
            due = max(due, self._born + BEHIND)
        for fault, since in self.world.struck.items():
            held = fault.kind == "hold" and self.world.held[fault] == change.resource
            if held and fault.at <= change.version:
                due = max(due, since + float(fault.how))
        return due

    def _mistreat(self, fault: Fault, due: float) -> Delivery:
        """An event that is lost, doubled, or the end of its watch: once per fault, whatever watches there are."""
        if fault.kind == "double":
            return Delivery(due, copies=2)
        if fault in self.world.spent:
            return Delivery(due)
        if due <= self.world.clock():
            self.world.spent.add(fault)
            if fault.kind == "drop":
                self._breaks.append(self.world.clock() + REPAIR)
        return Delivery(due, copies=0) if fault.kind == "drop" else Delivery(due, expire=True)


async def _forever() -> NoReturn:
    await asyncio.get_running_loop().create_future()
    raise AssertionError("for ever has ended")
