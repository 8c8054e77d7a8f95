"""Many requests of one kind, of which the first trouble stops the rest.

A gang is useful only as a whole, so once one member has met trouble the requests not yet sent are not sent; those
under way are awaited. What was not done is asked for again by the next decision, and doing a part of it twice is
harmless.

Requests of the native engine: bounded in number, and otherwise the transport's.
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
    """What has come of a batch so far. ``done`` holds the items that the API server has answered with yes."""

    def __init__(self) -> None:
        self.done: list[T] = []
        self._version = 0
        self._refusal: Refusal | None = None
        self._error: ApiError | None = None

    def add(self, item: T, result: int | Refusal | None) -> None:
        """Take in the resourceVersion of the pod in one answer, or a refusal (a final one outranks the others).

        None: nothing is known of that item, and it is left to the next decision.
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
        """Work through ``items`` with ``width`` tasks, none of which outlives this call, however it ends.

        Few workers rather than a task per item: an experiment of 10,000 members then queues at most ``width`` requests
        before those of its neighbours.
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
        """The result of the batch. A refusal replaces an error: it says more and lasts longer."""
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
        """One request, as soon as there is a free place."""
        async with self._slots:
            return await self._transport.request(method, path, params=params, body=body)
