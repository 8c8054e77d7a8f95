"""Runs requests of one kind concurrently; stops sending after the first error or refusal.

A gang is useful only as a whole. Requests under way are awaited; those not sent are asked for again by the next
decision, and repeating one of them is harmless. ``Calls`` bounds the requests of the engine over all experiments.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Generic, TypeVar

from muster.api.errors import ApiError
from muster.kube.transport import Answer, Transport
from muster.reconcilers.result import Outcome
from muster.state.view.engine_facts import Refusal

T = TypeVar("T")


class Batch(Generic[T]):
    """The results of a batch so far. ``done`` holds the items whose request succeeded."""

    def __init__(self) -> None:
        self.done: list[T] = []
        self._version = 0
        self._refusal: Refusal | None = None
        self._error: ApiError | None = None

    def add(self, item: T, result: int | Refusal | None) -> None:
        """Record the resourceVersion of the pod in one answer, or a refusal (a final one replaces the others).

        None: the outcome is unknown, and the item is left to the next decision.
        """
        if result is None:
            return
        if isinstance(result, int):
            self.done.append(item)
            self._version = max(self._version, result)
        elif self._refusal is None or (result.final and not self._refusal.final):
            self._refusal = result

    async def run(
        self, name: str, items: Iterable[T], work: Callable[[T], Awaitable[int | Refusal | None]], *, width: int
    ) -> None:
        """Process ``items`` with ``width`` tasks; all of them have ended when this returns or raises.

        A few workers, not a task per item: an experiment of 10,000 members then queues at most ``width`` requests
        ahead of those of other experiments.
        """
        queue = iter(items)

        async def worker() -> None:
            for item in queue:
                if self._refusal or self._error:
                    return
                try:
                    self.add(item, await work(item))
                except ApiError as error:
                    self._error = self._error or error

        async with asyncio.TaskGroup() as workers:
            for number in range(width):
                workers.create_task(worker(), name=f"{name} ({number})")

    def outcome(self) -> Outcome:
        """The outcome of the batch. A refusal takes precedence over an error: it says more and lasts longer."""
        return Outcome(version=self._version, refusal=self._refusal, error=None if self._refusal else self._error)


class Calls:
    """At most ``concurrency`` requests at a time, over all experiments. ``now`` gives wall seconds since 1970."""

    def __init__(self, transport: Transport, *, concurrency: int, now: Callable[[], float]) -> None:
        self.concurrency = concurrency
        self.now = now
        self._transport = transport
        self._slots = asyncio.Semaphore(concurrency)

    async def do(
        self, method: str, path: str, *, params: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Answer:
        """Send one request as soon as fewer than ``concurrency`` are under way."""
        async with self._slots:
            return await self._transport.request(method, path, params=params, body=body)
