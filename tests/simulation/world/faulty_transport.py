"""One daemon's transport to the API server, and the faults that happen on it.

The API server in memory always holds the truth. The transport delays and replaces answers, counts the daemon's writes,
and kills the daemon at the write that a plan names. After that it delivers nothing, whatever the daemon's tasks still
send while they are cancelled.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from math import inf
from typing import TYPE_CHECKING, NoReturn

from muster.api.errors import Unreachable, error_of
from muster.api.names import PLURAL, SELECTOR
from muster.kube.connection import TIMEOUT, TIMEOUT_REASON
from muster.kube.transport import Answer
from tests.fakes.history import Change, encode
from tests.fakes.watching import Delivery
from tests.simulation.oracles.own_writes import OwnWrites
from tests.simulation.plans.plan import RELIST_AFTER, STALE_FOR, Fault, error

if TYPE_CHECKING:
    from tests.simulation.world.world import World

LATENCY = 0.002
"""Seconds that a request, an answer or an event takes."""
_WEBHOOK = (
    'Internal error occurred: failed calling webhook "pods.example.com": failed to call webhook: '
    'Post "https://hook.example.svc:443/pods?timeout=10s": '
)
REFUSED = {
    "webhook-down": (500, "InternalError", f"{_WEBHOOK}dial tcp 10.0.0.9:443: connect: connection refused"),
    "webhook-timeout": (500, "InternalError", f"{_WEBHOOK}context deadline exceeded"),
    "webhook-denies": (403, "Forbidden", 'admission webhook "pods.example.com" denied the request: not today'),
    "quota": (403, "Forbidden", 'pods "run" is forbidden: exceeded quota: pods, requested: 1, used: 10, limited: 10'),
}
"""Status, reason and message of a refused create, by the ``how`` of a scenario's ``Refusal`` (texts of Kubernetes
1.36)."""
QUIET_RESOURCES = ("leases",)
"""Written periodically, so not counted as writes of a plan."""


class FaultyTransport:
    """Implements ``muster.kube.transport.Transport``. ``stale``: the resourceVersion at which lists are answered."""

    def __init__(self, world: "World", stale: int | None = None) -> None:
        self.world = world
        self.dead = False
        self.cut_until = 0.0
        """Until this wall-clock second nothing is sent or received."""
        self._stale = None if stale is None else min(stale, world.api.history.version)
        self._born = world.clock()
        self._synced: set[str] = set()
        self._plurals = f"/{PLURAL}", f"/{world.operator.subject.plural}"
        self.own = OwnWrites(world)
        self._due: dict[tuple[str, int], float] = {}
        self._reconnect_at: list[float] = []
        """When watches end because an event was lost on one of them."""
        self._ended: dict[str, list[float]] = {}
        """By plural: when the watches of a kind end because it is not served any more."""

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
        await self._travel()
        if method == "GET":
            answer = await self._read(path, params or {})
        elif path.split("/")[-2] in QUIET_RESOURCES or path.endswith(QUIET_RESOURCES):
            answer = await self.world.api.request(method, path, params=params, body=body)
        else:
            answer = await self._write(method, path, body, TIMEOUT if timeout is None else timeout)
        await self._travel()
        return answer

    def lines(
        self, path: str, *, params: Mapping[str, str], silence: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        if params.get("sendInitialEvents") != "true":
            self._synced.add(path)  # it has listed with pages before
        return self.world.api.lines(path, params=params, silence=silence, courier=self)

    # Requests

    async def _travel(self) -> None:
        """Wait for the latency of one message; forever once the daemon is dead."""
        if not self.dead:
            await asyncio.sleep(self.world.delay(LATENCY))
        if self.dead:
            await _never_return()
        if self.world.clock() < self.cut_until:
            raise Unreachable("no route to host", reason="Unreachable")

    async def _read(self, path: str, params: Mapping[str, str]) -> Answer:
        cached = params.get("labelSelector") == SELECTOR or path.endswith(self._plurals)  # of a cache
        served = path.rsplit("/", 1)[-1] not in self.world.api.unserved  # no cache has a list of what was never served
        if cached and served and (version := self.opening(path)) is not None:
            return Answer(200, encode(self.world.api.page(path, params, version)))
        if cached or not path.endswith("/pods"):
            return await self.world.api.request("GET", path, params=params)
        for fault in self._struck("expire-page") if "continue" in params else ():
            if fault not in self.world.spent:
                self.world.spent.add(fault)
                raise error_of(410, "Expired", "The provided continue parameter is too old", request=f"GET {path}")
        answer = await self.world.api.request("GET", path, params=params)
        for fault in self._struck("slow-list") if "continue" not in params else ():
            await asyncio.sleep(float(fault.how))
        return answer

    def _struck(self, kind: str) -> list[Fault]:
        """The faults of that kind whose resourceVersion has come."""
        return [fault for fault in self.world.injected if fault.kind == kind]

    async def _write(self, method: str, path: str, body: bytes | None, timeout: float) -> Answer:
        number = self.world.write(method, path, self)
        self.own.sends(method, path, body)
        fault = self.world.fault_of_write(number)
        if fault is not None and fault.kind == "refuse":
            raise error(fault.how, f"{method} {path}")
        if fault is not None and fault.kind in ("crash-before", "late"):
            if fault.kind == "late":
                self.world.carry_out_late(float(fault.how), method, path, body)
            await self._fail(fault)
        await self._admit(method, path, timeout)
        answer = await self.world.api.request(method, path, body=body)
        self.world.committed(number)
        self.world.invariants.wrote(method, path, body or b"")
        if fault is not None and fault.kind == "lose":
            await self._travel()
            raise error(fault.how, f"{method} {path}")
        if fault is not None and fault.kind == "cut":
            self.cut_until = self.world.clock() + float(fault.how)
            await self._travel()
        elif fault is not None and fault.kind == "slow-answer":
            await asyncio.sleep(float(fault.how))
        elif fault is not None:
            await self._fail(fault)
        self.own.answered(method, path, body, answer)
        return answer

    async def _admit(self, method: str, path: str, timeout: float) -> None:
        """Wait for, or fail as, the admission webhooks of the scenario. The client waits for ``timeout`` seconds."""
        if method == "POST" and self.world.users.leaving(path):
            raise error_of(
                403,
                "Forbidden",
                "unable to create new content in namespace team because it is being terminated",
                request=f"{method} {path}",
                causes=("NamespaceTerminating",),
            )
        now, created = self.world.loop.time(), path.rsplit("/", 1)[-1] if method == "POST" else ""
        for refusal in self.world.scenario.refusals:
            if created == refusal.resource and refusal.start <= now < refusal.end and f"/{refusal.namespace}/" in path:
                self.world.creates[refusal] += 1
                if self.world.creates[refusal] % refusal.every:
                    continue
                if refusal.how in ("slow", "webhook-timeout"):
                    await asyncio.sleep(min(refusal.seconds, timeout))
                if refusal.seconds > timeout:
                    problem = f"no answer within {timeout:g} s"
                    raise Unreachable(problem, reason=TIMEOUT_REASON, request=f"{method} {path}")
                if refusal.how in REFUSED:
                    status, reason, text = REFUSED[refusal.how]
                    raise error_of(status, reason, text, request=f"{method} {path}")

    async def _fail(self, fault: Fault) -> NoReturn:
        """End this run, unless another fault of the same instant has ended it already."""
        if not self.dead:
            self.dead = True
            self.world.crash(fault, self)
        await _never_return()

    @property
    def synced(self) -> bool:
        """Whether the daemon has received a full list of every kind that it watches."""
        return len(self._synced) >= 3

    # Events (``tests.fakes.watching.Courier``)

    def opening(self, collection: str) -> int | None:
        """The stale version, for as long as the watches of a daemon that began with it stay behind."""
        self._synced.add(collection)
        if self._stale is not None and self.world.clock() < self._born + STALE_FOR:
            return self._stale
        return None

    def carry(self, collection: str, change: Change) -> Delivery:
        key = (collection, change.version)
        due = self._due.get(key)
        if due is None:
            due = self._due[key] = self._arrival_time(change)
        for fault in self.world.plan.faults:
            if fault.applies_to(change.version) and fault.kind in ("drop", "double", "expire"):
                return self._event_fault(fault, due)
        return Delivery(due)

    def ends(self, collection: str, began: float) -> float:
        if not (self._reconnect_at or self._ended):
            return inf
        at = [*self._reconnect_at, *self._ended.get(collection.rsplit("/", 1)[-1], ())]
        return min((each for each in at if each > began), default=inf)

    def end_watches(self, plural: str) -> None:
        """The watches of that kind end now: it is not served any more."""
        self._ended.setdefault(plural, []).append(self.world.clock() + LATENCY)

    def _arrival_time(self, change: Change) -> float:
        due = max(change.at + self.world.delay(LATENCY), self.cut_until)
        if self._stale is not None and change.version > self._stale:
            due = max(due, self._born + STALE_FOR)
        for fault, since in self.world.injected.items():
            held = fault.kind == "hold" and self.world.held_resource[fault] == change.resource
            if held and fault.at <= change.version:
                due = max(due, since + float(fault.how))
        return due

    def _event_fault(self, fault: Fault, due: float) -> Delivery:
        """Drop or double an event, or end its watch with 410: once per fault, whatever the number of watches."""
        if fault.kind == "double":
            return Delivery(due, copies=2)
        if fault in self.world.spent:
            return Delivery(due)
        if due <= self.world.clock():
            self.world.spent.add(fault)
            if fault.kind == "drop":
                self._reconnect_at.append(self.world.clock() + RELIST_AFTER)
        return Delivery(due, copies=0) if fault.kind == "drop" else Delivery(due, expire=True)


async def _never_return() -> NoReturn:
    await asyncio.get_running_loop().create_future()
    raise AssertionError("a future that nothing sets is done")
